"""`RetryClient`: a client of the commonest programs, those that retry one effect."""

from __future__ import annotations

from typing import Any

from .._words.commands import Misuse
from .._words.failures import Predicate
from ..schedules.timings import After
from .environment import Inside
from .performers import ASKING, NOT_YET, ROOM, TaskPerformer
from .retries import Refusal, Retrying, task_of
from .services.service import Request


class RetryClient(TaskPerformer):
    """A client that retries a command or an attempt, without a stream of commands."""

    __slots__ = ("_after", "_log", "_shared", "_shortest", "_wait_count")

    refusal: Refusal | None = None  # of the run by a guard

    def __init__(self, shared: Retrying, number: int) -> None:
        super().__init__(shared.environment, number)
        self._shared = shared
        self._after: After | None = None  # the waits of this run; `None` until its first failure
        self._wait_count = 0  # the number of waits of this run
        self._shortest = 0.0  # the seconds of the last wait: the next one is not shorter
        self._log = shared.log()  # the waits of this run for the trace; `None` without a trace

    def begin(self) -> None:
        if self._log is not None:
            self._log.end_wait()
        self.begun = self._shared.events.now
        self.perform()

    def perform(self) -> None:
        shared = self._shared
        if shared.serving is not None:
            if self._inside is not NOT_YET or shared.limit is not None:
                self.request(shared.command, shared.serving, shared.limit)
                return
            shared.tally.asked += 1  # as `request`, in place
            self._arrived = ASKING
            shared.ask(Request(shared.command, self.number, shared.events.now, None, self))
            arrived, self._arrived = self._arrived, None
            if arrived is not ASKING:
                self.ended(*arrived)
            return
        self.room = ROOM
        try:
            if shared.function is not None:
                self._task = shared.function()
            else:
                if self._inside is NOT_YET:
                    self._inside = Inside([])
                self._task = task_of(shared.attempt, self._inside)
        except Exception as error:  # such as a wrong number of arguments
            self.ended(None, error)
        else:
            self.resume(None)

    def ended(self, value: Any, failure: BaseException | None) -> None:
        """End a try: plan the next one after a wait, or end the run."""
        shared, log = self._shared, self._log
        chosen: Predicate | None = None
        if failure is not None:
            failure.__traceback__ = None  # its frames refer to the client: a reference cycle
            if isinstance(failure, Misuse):
                raise failure
            try:
                seconds = self.next_wait(failure)
            except Exception as error:
                failure = error
                failure.__traceback__ = None
            else:
                if seconds is not None:
                    events = shared.events
                    self._wait_count += 1
                    self._shortest = seconds
                    if log is not None:
                        log.begin_wait(self.number, events.now, seconds, failure)
                    start = self.begun if shared.from_start else events.now
                    when = max(events.now, start + seconds)
                    events.at(when, self.__class__.begin, self)
                    return
                chosen = shared.tried.chosen
        if log is not None:
            log.end(failure, chosen, self.refusal)
            self._log = shared.log()
        self._after, self._wait_count, self._shortest = None, 0, 0.0
        shared.done(self, value, failure)

    def next_wait(self, failure: Any) -> float | None:
        """Return the seconds of the wait after `failure`; `None` if there is none."""
        if self._after is None:
            self._after = self._shared.descent()
        return self._after(failure, self._wait_count, self._shortest)
