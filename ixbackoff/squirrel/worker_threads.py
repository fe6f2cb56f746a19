"""Threads that work on items, each on one item after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Event, Lock, Thread
from time import monotonic
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from .._running.aborting_handlers import ABORT, Abort

A = TypeVar("A")
T = TypeVar("T")

ENDING = 3.0  # the time for threads to end after an interruption, seconds


class Jobs(Generic[T, A]):
    """Threads that read items, in order, and work on each.

    Items with the same name are worked on one after the other. After an interruption, or an
    exception in a thread, waits end, downloads and uploads are aborted, and no work begins.

    `take` is called with the number of an item and the result of its work, in one thread at a time,
    also for work that ends after an interruption.
    """

    def __init__(
        self,
        items: Iterable[T],
        name: Callable[[T], str],
        work: Callable[[T], A],
        take: Callable[[int, A], None],
        stop: Event,  # set to end all waits
        ending: float = ENDING,
    ) -> None:
        self._items = enumerate(items)
        self._name, self._work, self._take = name, work, take
        self._stop, self._ending = stop, ending
        self.read = 0  # the number of items that threads have read
        self._reading = Lock()
        self._lock = Lock()
        self._turns: WeakValueDictionary[str, Lock] = WeakValueDictionary()
        self._aborts: set[Abort] = set()
        self._running = 0
        self._over = Event()
        self._failure: BaseException | None = None

    def run(self, most: int) -> None:
        """Work on all items, in `most` threads; raise the first exception of a thread."""
        threads = [Thread(target=self._job, daemon=True) for _ in range(most)]
        self._running = most
        try:
            for thread in threads:
                thread.start()
            self._over.wait()
            if self._failure is not None:
                raise self._failure
        except BaseException:
            self._end(threads)
            raise
        finally:
            self._failure = None

    def _end(self, threads: list[Thread]) -> None:
        self._stop.set()
        with self._lock:
            aborts = list(self._aborts)
        for abort in aborts:
            abort.request()
        end = monotonic() + self._ending
        for thread in threads:
            if thread.ident is not None:
                thread.join(max(0.0, end - monotonic()))

    def _job(self) -> None:
        try:
            while self._next():
                pass
        except BaseException as failure:
            self._failure = self._failure or failure
            self._over.set()
        finally:
            with self._lock:
                self._running -= 1
                if not self._running:
                    self._over.set()

    def _next(self) -> bool:
        """Work on the next item; return `False` if no item is left, or `stop` is set."""
        abort = Abort()
        with self._reading:  # not `_lock`: reading the next item from a pipe may take long
            if self._stop.is_set():
                return False
            try:
                number, item = next(self._items)
            except StopIteration:
                return False
            self.read += 1
            turn = self._turns.setdefault(self._name(item), Lock())
        with turn:
            with self._lock:
                self._aborts.add(abort)
            ABORT.set(abort)
            try:
                if self._stop.is_set():
                    return False
                answer = self._work(item)
            finally:
                ABORT.set(None)
                with self._lock:
                    self._aborts.discard(abort)
        with self._lock:
            self._take(number, answer)
        return True
