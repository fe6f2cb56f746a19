"""Clients that retry an attempt, and perform its tasks without a stream of commands."""

from __future__ import annotations

from typing import Any, Final

from .._meaning.chains import Ladder
from .._words.vocabulary import Together
from ..schedules.timings import After, Timing
from .environment import Done, Environment, Running
from .guards import Guards
from .joins import Join
from .performers import NOT_YET, Branches, TaskPerformer
from .retries import Retrying, Tried, as_attempt, generating, task_of


class AttemptRetrying(Retrying):
    def __init__(
        self, environment: Environment, program: Ladder, tried: Tried, timing: Timing, done: Done
    ) -> None:
        super().__init__(environment, program, tried, timing, done)
        self.attempt: Final = as_attempt(tried.effect)
        self.function: Final = generating(self.attempt)

    def client(self, number: int, guards: Guards | None) -> Running:
        return AttemptClient(self, number, guards)


class AttemptClient(TaskPerformer):
    """A client that retries an attempt; its attributes are those of `Trying`."""

    def __init__(self, shared: AttemptRetrying, number: int, guards: Guards | None) -> None:
        super().__init__(shared.environment, number)
        self.shared = shared
        self.guards = guards
        self.after: After | None = None
        self.wait_count = 0
        self.shortest = 0.0
        self.log = shared.log()

    def begin(self) -> None:
        shared, guards = self.shared, self.guards
        if guards is None:
            if self.log is not None:
                self.log.end_wait()
            self.begun = shared.events.now
        elif not guards.admit(self):
            return
        elif guards.judges:
            inside = self._inside = shared.environment.inside()
            inside.passed = guards.passes
            if guards.limit is not None:
                inside.limits.append(guards.limit)
        try:
            if shared.function is not None:
                self._task = shared.function()
            else:
                if self._inside is NOT_YET:
                    self._inside = shared.environment.inside()
                self._task = task_of(shared.attempt, self._inside)
        except Exception as error:  # such as a wrong number of arguments
            self.ended(None, error)
        else:
            self.resume(None)

    def ended(self, value: Any, failure: BaseException | None) -> None:
        shared, inside = self.shared, self._inside
        if inside is not NOT_YET:
            inside.limits.clear()
            inside.passed = ()
            shared.environment.unused.append(inside)
            self._inside = NOT_YET
        if failure is None and self.after is None and self.log is None and self.guards is None:
            shared.done(self, value, None)
        else:
            shared.end_try(self, value, failure)

    def branches(self, command: Together, left: float | None) -> Branches:
        return Join(self, self._environment, command, left)

    def close(self) -> None:
        super().close()
        if self.guards is not None:
            self.guards.drop(self.shared.events.now)
