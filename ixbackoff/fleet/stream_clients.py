"""`StreamClient`: performs the stream of commands of any program."""

from __future__ import annotations

from math import inf
from typing import Any

from .._limits.deadlines import Limit
from .._meaning.chains import Ladder
from .._meaning.defaults import Defaults
from .._meaning.runs import ProgramRun
from .._meaning.semantics import unrolled
from .._running.traces import Performed
from .._words.commands import Misuse
from ..schedules.timings import Timing
from .environment import Done, Environment, Inside
from .performers import ROOM, TaskPerformer


class StreamClient(TaskPerformer):
    """A client of any program; those of `at(rung).retry(effect)` have a shorter path."""

    def __init__(
        self,
        environment: Environment,
        number: int,
        program: Ladder,
        how: Defaults,
        timing: Timing,
        done: Done,
    ) -> None:
        super().__init__(environment, number)
        # The stream applies the limits. This one has no end, so that each command is asked in time.
        self._inside = Inside([Limit(0.0, inf, whole=False)])
        self._program = program
        self._how = how
        self._timing = timing
        self._done = done

    def begin(self) -> None:
        events = self._environment.events
        run = ProgramRun(self._program, self._timing, events.random)
        self._task, self.room = unrolled(self._program, self._how, run=run), ROOM
        self.begun = events.now
        self.resume(None)

    def ended(self, value: Any, failure: BaseException | None) -> None:
        if isinstance(failure, Misuse):
            raise failure
        self._done(self, value, failure)

    def wait(self, wait: Any) -> None:
        if not wait.rung:
            super().wait(wait)
            return
        environment = self._environment
        now = environment.events.now
        start = self.begun if environment.from_start else now
        line = self._waits_for = Performed(now, wait, None, None, self.number)
        environment.events.at(max(now, start + wait.seconds), self.woken, line)

    def woken(self, waited: Performed) -> None:
        wait: Any = waited.command
        if wait.rung:  # else it has stood in line
            self.begun = self._environment.events.now
        super().woken(waited)
