"""Clients that retry an attempt, and perform its tasks without a stream of commands."""

from __future__ import annotations

from typing import Any, Final

from .._limits.deadlines import Expired, Limit, check_in_time, clean_up, seconds_left
from .._meaning.chains import Chain, Ladder
from .._meaning.machine import Task
from .._words.commands import Command, raisable
from .._words.verdicts import is_transient
from .._words.vocabulary import Together
from ..schedules.timings import After, Timing
from .environment import Done, Environment, Running
from .performers import NOT_YET, Branches, Inside, TaskPerformer
from .retries import Retrying, Tried, as_attempt, task_of
from .services.service import Serving
from .stream_clients import Join


class AttemptRetrying(Retrying):
    def __init__(
        self, environment: Environment, program: Ladder, tried: Tried, timing: Timing, done: Done
    ) -> None:
        super().__init__(environment, program, tried, timing, done)
        self.environment: Final = environment
        self.attempt: Final = as_attempt(tried.effect)
        self.unused: Final[list[Inside]] = []

    def inside(self) -> Inside:
        return self.unused.pop() if self.unused else Inside([])

    def client(self, number: int) -> Running:
        return AttemptClient(self, number)


class AttemptClient(TaskPerformer):
    """A client that retries an attempt; its attributes are those of `Trying`."""

    def __init__(self, shared: AttemptRetrying, number: int) -> None:
        super().__init__(shared.environment, number)
        self._shared = shared
        self.after: After | None = None
        self.wait_count = 0
        self.shortest = 0.0
        self.log = shared.log()

    def begin(self) -> None:
        shared = self._shared
        if self.log is not None:
            self.log.end_wait()
        self.begun = shared.events.now
        self._inside = shared.inside()
        self._task = task_of(shared.attempt, self._inside)
        self.resume(None)

    def ended(self, value: Any, failure: BaseException | None) -> None:
        shared, inside = self._shared, self._inside
        if inside is not NOT_YET:
            shared.unused.append(inside)
            self._inside = NOT_YET
            self._waits_for = None
        if failure is None and self.after is None and self.log is None:
            shared.done(self, value, None)
        else:
            shared.end_try(self, value, failure)

    def branches(self, command: Together) -> Branches:
        return Join(self, self._environment, command)

    def entered(self, attempt: Chain) -> Task:
        if self._inside is NOT_YET:
            self._inside = self._shared.inside()
        return task_of(attempt, self._inside)

    def ask_in_time(self, command: Command[Any], serving: Serving) -> None:
        limits, now = self._inside.limits, self._environment.events.now
        limit = limits[-1]
        if len(limits) == 1 and limit.deadline > now and not limit.ending:
            self._ask(command, serving, limit.deadline - now)
        else:
            super().ask_in_time(command, serving)

    def seconds_left(self, command: Command[Any]) -> float | None:
        limits = self._limits()
        if not limits:
            return None
        try:
            return seconds_left(command, limits, self._environment.events.now)
        except Expired as error:
            clean_up(self._inside.limits, error)
            raise

    def limited(self, command: Command[Any], begun: float, failure: BaseException) -> BaseException:
        if isinstance(failure, Exception) and is_transient(failure):
            now = self._environment.events.now
            try:
                check_in_time(command, self._limits(), begun, now, failure)
            except Expired as error:
                clean_up(self._inside.limits, error)
                return error
        return raisable(failure)

    def _limits(self) -> list[Limit]:
        """Return the limits that still apply: all but those whose cleanup is running."""
        return [limit for limit in self._inside.limits if not limit.ending]
