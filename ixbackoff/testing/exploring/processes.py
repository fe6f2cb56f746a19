"""Processes, each of which runs a program, and their strands, one for each program and branch."""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import Context
from dataclasses import InitVar, dataclass
from pathlib import PurePath
from random import Random
from typing import Any, TypeAlias

from ..._meaning.chains import Ladder, Step
from ..._meaning.run_defaults import Defaults
from ..._meaning.run_state import ProgramRun
from ..._meaning.semantics import unrolled
from ..._meaning.steps import ResumeStep, RetryStep
from ..._running.concurrent_effects import Aborted, awaits_other
from ..._words.commands import Interpreter, Misuse, Stream
from ..._words.judging import asked_for
from ..._words.rungs import ENDLESS
from ..._words.standard_commands import Delay, Together
from ...durable.journal import Line
from ...durable.performing import Performer
from .memory_journal import MemoryJournal
from .states import NOT_PLAIN, frozen, may_change, state_of
from .surprises import Start

__tracebackhide__ = True


SEED = 7  # the seed of random waits, which are the same in each history
NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(eq=False)
class Process:
    """A process that runs a program, and can die."""

    number: int
    program: Ladder
    how: Defaults
    interpreter: Interpreter[object]
    context: Context
    recording: bool  # whether it may be resumed durably
    now: InitVar[float]

    def __post_init__(self, now: float) -> None:
        self.name = NAMES[self.number] if self.number < len(NAMES) else f"P{self.number}"
        steps = self.program.steps()
        only = steps[0].__class__ if len(steps) == 1 else Step
        ends = not self.recording and self.program._start != ENDLESS
        # retries: the class of the program's only step, if that step is a retry, its ladder has an
        # end, and the process is not `recording`; else `None`
        self.retries: type | None = only if issubclass(only, RetryStep) and ends else None
        self.runs = 0  # the number of times that it was started anew
        self.died = False  # whether it has died for good
        self.late: tuple[Any, ...] = ()  # commands abandoned by hedges; they may still be done
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
        return Strand(self, stream, line, self.context.copy(), None, (), now)

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
        if root.over and not may_change(root.value):  # then its past does not matter
            return (frozen(root.value), state_of(failure, NOT_PLAIN), root.place, self.died)
        return (root.state(timed), self.died, self.runs if self.recording else 0)


Result: TypeAlias = tuple[Any, BaseException | None, float]


@dataclass(eq=False)
class Strand:
    """The commands of a program, or of a branch of an `all_of` or a hedge."""

    owner: Process
    stream: Stream
    line: Line  # its place in the journal
    context: Context
    parent: Strand | None
    path: tuple[int, ...]  # the numbers of the branches, outermost first
    now: float  # its seconds of virtual time

    def __post_init__(self) -> None:
        # key: the hash of all answers so far
        self.key = self.owner.journal.keys.get(self.line.path, 0)
        # known: the hash of the answers that the program still knows, if it only retries one effect
        self.known = 0
        # before: `known` before the newest answer, if this answer was the try's first failure
        self.before: int | None = None
        self.waited: tuple[float, int] | None = None  # the last wait with its rung
        self.failed = self.begun = self.over = False  # failed: whether the current try failed
        self.command: Any = None  # `None` before the beginning and after the end
        self.pending: tuple[Any, BaseException | None] | None = None  # an outcome due at `now`
        self.branches: list[Strand] | None = None  # the branches of its current `all_of` or hedge
        self.ending: Strand | None = None  # the branch that cleans up, once there is a result
        self.left: list[Strand] = []  # the branches to end after `ending`
        self.result: Result | None = None
        self.value: Any = None
        self.failure: BaseException | None = None
        self.place = ""  # the line of user code that raised the failure

    def advance(self, answer: Any, failure: BaseException | None) -> None:
        self.begun = True
        self.owner.journal.time = self.now
        run = self.context.run
        try:
            if failure is None:
                self.command = run(self.stream.send, answer)
            else:
                self.command = run(self.stream.throw, failure)
            if self.owner.performer is None and self.owner.recording:
                self.line.identify(self.command)
        except StopIteration as end:
            self.over, self.value, self.command = True, end.value, None
        except BaseException as error:
            if self.parent is None and (
                not isinstance(error, Exception) or isinstance(error, Misuse)
            ):
                raise
            if self.parent is None:
                self.place = place_of(error)
            error.__traceback__ = None  # the traceback would keep all frames of the history alive
            self.over, self.failure, self.command = True, error, None
        finally:
            del failure

    def receive(self, answer: Any, failure: BaseException | None) -> None:
        owner, line = self.owner, self.line
        try:
            outcome = hash((*line.times, frozen(answer), frozen(failure)))
        except Exception as error:
            raise Misuse(
                f"The answer to {self.command!r} cannot be compared, so answer with plain data: "
                f"{error}"
            ) from None
        self.key = hash((self.key, outcome))
        if owner.retries is not None:
            self.remember(outcome, failure is not None, owner.retries is ResumeStep)
        if owner.recording:
            owner.journal.record(line, self.command, answer, failure)
            owner.journal.keys[line.path] = self.key
        if owner.performer is None:
            line.next()
        self.advance(answer, failure)

    def remember(self, outcome: int, failed: bool, resumes: bool) -> None:
        """Note an outcome in `known`; after a wait, forget the try that failed before it.

        The next try knows the wait and the rung; with `.resume`, it also knows the answers before
        the failure. A try of `.resume` is forgotten only if its last command failed, and no other.
        """
        command, known, waits = self.command, self.known, self.command.__class__ is Delay
        if waits and not failed and (self.before is not None or not resumes):
            self.known = self.before if resumes and self.before else 0
            self.waited = (command.seconds, command.rung)
        else:
            self.known = hash((known, outcome))
        self.before = known if failed and not self.failed else None
        self.failed = not waits and (self.failed or failed)

    def deliver(self) -> None:
        if self.pending is not None:
            (answer, failure), self.pending = self.pending, None
            self.receive(answer, failure)

    def fork(self, command: Together) -> None:
        """Begin the branches of an `all_of` or a hedge; a hedge in a durable run has one branch."""
        owner, line = self.owner, self.line
        many = 1 if command.hedge is not None and owner.recording else None
        performer = owner.performer
        self.branches = []
        for number, (stream, path) in enumerate(
            self.context.run(line.fork, command, line.first_again(), many)
        ):
            replayed = stream if performer is None else performer.replayed(stream, path)
            where = self.context.copy(), self, (*self.path, number + 1), self.now
            self.branches.append(Strand(owner, replayed, path, *where))
        if performer is not None:  # a replayed branch that failed has to end the others
            for branch in self.branches:
                branch.advance(None, None)
        self.join()

    def join(self) -> None:
        """If the result is certain, end the branches that still run, one by one, and continue."""
        while self.branches is not None:
            if self.result is None:
                hedged = self.command.hedge is not None
                self.result = result_of(self.branches, hedged)
                if self.result is None:
                    return
                self.now = max(self.now, self.result[2])
                going = [branch for branch in self.branches if not branch.over]
                self.left = sorted(going, key=time_of)
                if hedged:  # an abandoned request may be carried out later
                    late = [one.command for one in going if one.command and not one.pending]
                    self.owner.late += tuple(late)
            elif self.ending is not None:
                if not self.ending.over:
                    return
                self.now = max(self.now, self.ending.now)
            if not self.left:
                values, failure, _ = self.result
                self.now = max([self.now, *[branch.now for branch in self.branches]])
                self.branches = self.ending = self.result = None
                self.receive(values, failure)
                return
            self.ending = self.left.pop(0)
            self.ending.abort(self.now)

    def abort(self, now: float) -> None:
        """End this branch, which the result does not need; its `finally` blocks still run."""
        self.pending, self.now = None, now
        if self.branches is not None:
            for branch in self.branches:
                branch.close()
            self.let_go()
        if self.begun:
            self.receive(None, Aborted())
        else:
            self.advance(None, Aborted())

    def leaves(self) -> Iterator[Strand]:
        """Yield the strands that can continue, in order."""
        if self.branches is not None:
            for branch in self.branches if self.ending is None else (self.ending,):
                yield from branch.leaves()
        elif not self.over:
            yield self

    def close(self) -> None:
        """Close the strand; the commands of its `finally` blocks are not answered."""
        for branch in self.branches or ():
            branch.close()
        self.stream.close()
        self.let_go()

    def let_go(self) -> None:
        """Break the reference cycles of the strand and its branches."""
        for branch in self.branches or ():
            branch.let_go()
        self.branches = self.ending = self.result = None
        self.left = []

    def state(self, timed: bool) -> Any:
        """Return the state on which the next commands depend."""
        known: tuple[Any, ...] = (self.key, self.over, *self.line.times)
        if timed:
            known += (self.now,)
        elif self.owner.retries is not None and self.parent is None:
            known = (self.known, self.waited, self.before, self.failed, self.over)
        if self.owner.recording:
            known += (self.line.again,)
        if self.pending is not None:
            answer, failure = self.pending
            known += (frozen(answer), failure and frozen(failure))
        if self.branches is not None:
            known += (tuple([branch.state(timed) for branch in self.branches]),)
            known += (None if self.ending is None else self.ending.path,)
        return known


def result_of(branches: list[Strand], hedged: bool) -> Result | None:
    """Return the outcome, as in a real run; return `None` while branches must continue."""
    ended = [branch for branch in branches if branch.over]
    for one in ended:
        failed = one.failure is not None
        if hedged != failed or (hedged and one.failure and not awaits_other(one.failure)):
            return one.value, one.failure, one.now
    if not hedged:
        over = len(ended) == len(branches)
        return ([one.value for one in branches], None, 0.0) if over else None
    if not ended or any(branch.begun and not branch.over for branch in branches):
        return None
    last = max(ended, key=lambda copy: asked_for(copy.failure))
    return None, last.failure, max(copy.now for copy in ended)


def place_of(error: BaseException) -> str:
    """Return the function and line of user code in which an exception was raised."""
    place, entry = "", error.__traceback__
    while entry is not None:
        frame = entry.tb_frame
        if not frame.f_globals.get("__tracebackhide__"):
            file = PurePath(frame.f_code.co_filename).name
            place = f" in {frame.f_code.co_name} ({file}:{entry.tb_lineno})"
        entry = entry.tb_next
    return place


def time_of(strand: Strand) -> float:
    return strand.now
