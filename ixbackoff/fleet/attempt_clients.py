"""Clients that try an attempt again and again, and perform it themselves."""

from __future__ import annotations

from typing import Any, Final

from .._limits.deadlines import Expired, check_in_time, clean_up, seconds_left
from .._meaning.chains import Chain, Ladder
from .._meaning.descents import After
from .._meaning.machine import Task
from .._words.commands import Command, stopped
from .._words.verdicts import is_transient
from .._words.vocabulary import Together
from ..schedules.kinds import Timing
from .clients import Join
from .descents import Retrying
from .environments import Done, Environment, Running
from .performers import NOT_YET, Branches, Inside, Performer
from .services import Serving
from .tries import Tried, as_attempt, generating, task_of


class AttemptRetrying(Retrying):
    """The state that all clients of one attempt share."""

    def __init__(
        self, environment: Environment, program: Ladder, tried: Tried, timing: Timing, done: Done
    ) -> None:
        super().__init__(environment, program, tried, timing, done)
        self.environment: Final = environment
        self.function: Final = generating(tried.effect)
        self.attempt: Final = as_attempt(tried.effect)
        self.unused: Final[list[Inside]] = []

    def inside(self) -> Inside:
        """The inside of the attempts of a try: one that is over, or a new one."""
        return self.unused.pop() if self.unused else Inside([])

    def client(self, number: int) -> Running:
        """Make one of them."""
        return AttemptClient(self, number)


class AttemptClient(Performer):
    """A client that tries an attempt.

    Attributes:
        after: the waits of this run of the program, from its first failure on.
        wait_count: the number of its waits.
        shortest: how long the last of them was.
        log: the waits of this run, for the trace; `None` without one.
    """

    __slots__ = ("_shared", "after", "log", "shortest", "wait_count")

    def __init__(self, shared: AttemptRetrying, number: int) -> None:
        super().__init__(shared.environment, number)
        self._shared = shared
        self.after: After | None = None
        self.wait_count = 0
        self.shortest = 0.0
        self.log = shared.log()

    def begin(self) -> None:
        """Try: for the first time, or after a wait."""
        shared = self._shared
        if self.log is not None:
            self.log.end_wait()
        self.begun = shared.events.now
        try:
            if shared.function is not None:
                self._task = shared.function()
            else:
                self._inside = shared.inside()
                self._task = task_of(shared.attempt, self._inside)
        except Exception as error:  # such as a wrong number of arguments
            self.ended(None, error)
        else:
            self.go_on(None)

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
        limits, now = self._inside.limits, self._environment.events.now
        holding = [limit for limit in limits if not limit.ending]
        if not holding:
            return None
        try:
            return seconds_left(command, holding, now)
        except Expired as error:
            clean_up(limits, error)
            raise

    def as_told(self, command: Command[Any], begun: float, failure: BaseException) -> BaseException:
        limits = self._inside.limits
        if isinstance(failure, Exception) and is_transient(failure):
            holding = [limit for limit in limits if not limit.ending]
            try:
                check_in_time(command, holding, begun, self._environment.events.now, failure)
            except Expired as error:
                clean_up(limits, error)
                return error
        return stopped(failure) if isinstance(failure, StopIteration) else failure
