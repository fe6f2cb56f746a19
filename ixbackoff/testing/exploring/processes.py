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
from ..._words.rungs import ENDLESS
from ...durable.journal import Line
from ...durable.performing import Performer
from .recording import MemoryJournal
from .states import NOT_PLAIN, frozen, may_change, state_of
from .strands import Strand
from .surprises import Start

__tracebackhide__ = True

SEED = 7  # the seed of random waits, which are the same in each history

NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Process:
    """A process that runs a program, and can die."""

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
        self.recording = recording  # whether it may be started durably
        only = program.steps()[0].__class__ if len(program.steps()) == 1 else Step
        ends = not recording and program._start != ENDLESS
        # retries: the class of the step of a program that only retries an effect, or `None`
        self.retries: type | None = only if issubclass(only, RetryStep) and ends else None
        self.runs = 0  # the number of times that it was started anew
        self.died = False  # whether it has died for good
        self.late: tuple[Any, ...] = ()  # commands of hedges given up, which may still be done
        self.performer: Performer | None = None  # replays the journal of a durable process
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
            return (frozen(root.value), state_of(failure, NOT_PLAIN), root.place, self.died)
        return (root.state(timed), self.died, self.runs if self.recording else 0)
