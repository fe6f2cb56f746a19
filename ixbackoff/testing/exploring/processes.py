"""`Process`: one program that runs, may die, and may be started again."""

from __future__ import annotations

from contextvars import Context
from random import Random
from typing import Any

from ..._meaning.chains import Ladder, Step
from ..._meaning.defaults import Defaults
from ..._meaning.runs import ProgramRun
from ..._meaning.semantics import unrolled
from ..._meaning.steps import RetryStep
from ..._words.commands import Interpreter
from ...durable.journal import Line
from ...durable.performing import Performer
from .recording import MemoryJournal
from .states import frozen, may_change
from .strands import Strand
from .surprises import Start

__tracebackhide__ = True

SEED = 7
"""The seed of random waits, which are the same in each history."""

NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Process:
    """A process that runs a program, and can die.

    Attributes:
        recording: whether it may be started durably.
        retries: the class of the step of a program that only retries an effect, or `None`.
        runs: the number of times that it was started anew.
        died: whether it has died for good.
        late: the commands of hedges that were given up, which may still be done.
        performer: the performer that replays the journal, if the process resumed durably.
    """

    def __init__(
        self,
        number: int,
        program: Ladder,
        how: Defaults,
        interpreter: Interpreter[object],
        context: Context,
        recording: bool,
        now: float,
    ) -> None:
        self.number = number
        self.name = NAMES[number] if number < len(NAMES) else f"P{number}"
        self.program = program
        self.how = how
        self.interpreter = interpreter
        self.context = context
        self.recording = recording
        only = program.steps()[0].__class__ if len(program.steps()) == 1 else Step
        self.retries: type | None = only if issubclass(only, RetryStep) and not recording else None
        self.runs = 0
        self.died = False
        self.late: tuple[Any, ...] = ()
        self.performer: Performer | None = None
        self.journal = MemoryJournal(self.name, now)
        self.root = self.started(now)

    def started(self, now: float) -> Strand:
        """Make the strand of the program, from its beginning or from the end of its journal."""
        schedule = self.how.schedule
        chance = None if schedule.deterministic else Random(SEED)  # noqa: S311
        run = ProgramRun(self.program, schedule, chance)
        line = Line(self.journal, again=self.performer is not None)
        line.follow(run)
        stream = unrolled(self.program, Defaults(within=self.how.within), run=run)
        if self.performer is not None:
            stream = self.performer.replayed(stream, line)
        root = Strand(self, stream, line, self.context.copy(), None)
        root.now = now
        return root

    def die(self, start: Start, now: float) -> None:
        self.root.close()
        if start == "for good":
            self.died = True
            self.root.over, self.root.command = True, None
            return
        if start == "durably":
            self.performer = Performer(self.journal, self.interpreter)
            self.performer.gated = False
        else:
            self.runs += 1
            self.performer = None
            self.journal = MemoryJournal(f"{self.name}{self.runs}", now)
        self.root = self.started(now)

    def state(self, timed: bool) -> tuple[object, ...]:
        root, failure = self.root, self.root.failure
        if root.over and not may_change(root.value):  # then it does not matter how it came there
            return (frozen(root.value), failure and frozen(failure), root.place, self.died)
        return (root.state(timed), self.died, self.runs if self.recording else 0)
