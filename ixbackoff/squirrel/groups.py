"""Group commit: one transaction does the concurrent work of several threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import Any, Generic, TypeVar

from .._limits.deadlines import time_limit
from .._running.aborting import ABORT
from .._words.failures import Transient

A = TypeVar("A")
C = TypeVar("C")

LONGEST = 30.0  # seconds that work may take if no other limit is shorter
CLOSING = 5.0  # seconds that `close` waits for the current group
MOST = 256


@dataclass
class Work(Generic[C, A]):
    """One piece of work, for one caller."""

    function: Callable[[C], A]
    writes: bool
    order: str  # its sort key in its group: one order for all squirrels avoids deadlocks
    end: float  # a time of the monotonic clock; work that has not begun by then is dropped
    future: Future[A] = field(default_factory=Future[A])

    @property
    def left(self) -> float:
        return self.end - monotonic()

    def done(self, answer: A) -> None:
        with suppress(InvalidStateError):  # aborted
            self.future.set_result(answer)

    def failed(self, failure: Exception) -> None:
        """Fail with a copy of `failure`: each caller raises an exception of its own."""
        with suppress(InvalidStateError):
            self.future.set_exception(copy(failure))

    def answer(self) -> A:
        """Wait for the answer, in the thread of the caller."""
        abort = ABORT.get()
        if abort is not None:
            abort.on_request(lambda: self.failed(TimeoutError()))
        try:
            return self.future.result(max(0.0, self.left))
        finally:
            self.end = 0.0
            self.future = Future()  # break the cycle of exception, traceback and frames


class Groups(Generic[C]):
    """A thread that does work in groups: the work that arrives during a group is the next group."""

    def __init__(
        self,
        perform: Callable[[Sequence[Work[C, Any]]], list[Any]],  # in one transaction
        end: Callable[[], None],  # called in the thread after the last group
        closed: Callable[[], Transient],  # makes the failure of work that arrives after `close`
        splits: Callable[[Exception], bool],  # whether to do the work of a failed group one by one
    ) -> None:
        self._perform, self._end, self._refusal, self._splits = perform, end, closed, splits
        self._lock = Lock()
        self._waiting: SimpleQueue[Work[C, Any] | None] = SimpleQueue()
        self._closed = False
        self._thread: Thread | None = None

    def do(self, function: Callable[[C], A], writes: bool, order: str = "") -> A:
        """Do work in the next transaction, and return its answer after the commit.

        Work that exceeds the time limit of the command, or is aborted, fails with TimeoutError.
        """
        limit = time_limit()
        end = monotonic() + (LONGEST if limit is None else min(limit, LONGEST))
        work = Work(function, writes, order, end)
        with self._lock:
            self.check_open()
            if self._thread is None:
                self._thread = Thread(target=self._run, name="squirrel-index", daemon=True)
                self._thread.start()
            self._waiting.put(work)
        return work.answer()

    def check_open(self) -> None:
        if self._closed:
            raise self._refusal()

    def close(self) -> None:
        """Do the work that has arrived, and end the thread."""
        with self._lock:
            self._closed = True
            self._waiting.put(None)
        if self._thread is not None:
            self._thread.join(CLOSING)

    def _run(self) -> None:
        over = False
        while not over:
            group = [self._waiting.get()]
            while len(group) < MOST and not self._waiting.empty():
                group.append(self._waiting.get())
            over = None in group
            self._together([work for work in group if work is not None and work.left > 0])
            group.clear()
        self._end()

    def _together(self, group: list[Work[C, Any]]) -> None:
        group.sort(key=lambda work: work.order)
        try:
            answers = self._perform(group) if group else []
        except Exception as failure:
            if len(group) > 1 and self._splits(failure):
                for work in group:
                    self._together([work])
                return
            for work in group:
                work.failed(failure)
            return
        for work, answer in zip(group, answers, strict=True):
            work.done(answer)
