"""Machines: each runs one history, with a world, its processes, and the time."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from ..._limits.deadlines import time_limit
from ..._words.commands import Handler, Misuse, inherited
from ..._words.vocabulary import CLOCK, Delay, Log, Now, Pick, Throw, Together
from ...durable.journal import ASKED, Asked
from ..virtual import Performed
from .breaking import Breaks, broken_off
from .history import Event, Option
from .plans import Plan
from .processes import Process
from .shortening import short
from .states import frozen, state_of
from .strands import Strand, time_of
from .surprises import Surprise

__tracebackhide__ = True

STANDARD = (Delay, Log, Now, Pick, Throw, Together)
"""The commands that need no handler in a model."""

ATOMS = frozenset({str, int, float, bool, bytes, type(None), complex})
"""Answers of these classes never change."""

LONGEST = 10_000
"""The most commands of one history, waits included."""


class Machine:
    """One history: a fresh world, and the processes in it.

    Args:
        plan: what is searched.
        trace: it is told of every command that is performed, if somebody wants to know.

    Attributes:
        now: seconds of virtual time; they only grow.
        current: the strand whose turn it is.
        changes: the changes of the world that have not happened yet.
        on_the_way: the commands that are late, and may be done at any time.
        passed: how many points the last effect passed at which it may break.
        performed: how many commands were performed.
        told: how many commands were answered, waits included.
        watches: true if answers that change afterwards are noticed.
    """

    def __init__(self, plan: Plan, trace: list[Performed] | None = None) -> None:
        self.plan = plan
        self.trace = trace
        self.world = plan.setting.world()
        self.interpreter = plan.setting.interpreter(self.world)
        self.handlers = self.interpreter._handlers
        self.now = 0.0
        self.processes = [
            Process(number, program, how, self.interpreter, plan.durable)
            for number, (program, how) in enumerate(plan.programs)
        ]
        self.current: Strand = self.processes[0].root
        self.changes = plan.changes
        self.on_the_way: tuple[Any, ...] = ()
        self.passed = 0
        self.performed = 0
        self.told = 0
        self.watches = False
        self.answers: list[tuple[Any, Any]] = []
        for process in self.processes:  # or one that has begun would be another state
            self.begin(process.root)

    def key(self) -> int:
        """Return the hash of the whole state: what comes next depends on nothing else."""
        plan, timed = self.plan, self.plan.timed
        world = state_of(
            plan.setting.state(self.world),
            "The world cannot be compared, so give state=, a function from it to plain data",
        )
        known = tuple([process.state(timed) for process in self.processes])
        time = self.now if timed else None
        late = tuple(map(frozen, self.on_the_way))
        current = (self.owner.number, self.current.path)
        return hash((world, known, current, self.changes, late, time))

    @property
    def owner(self) -> Process:
        """The process whose turn it is."""
        owner: Any = self.current.owner
        process: Process = owner
        return process

    def turn(self) -> bool:
        """Go on to the next command that is a step of the history; false if all is over."""
        while True:
            strand = self.current
            if strand.pending is not None:
                strand.deliver()
            elif strand.over:
                if strand.parent is not None:
                    strand.parent.join()
                    self.current = earliest(strand.parent) or strand.parent
                else:
                    left = [one.root for one in self.processes if not one.root.over]
                    if not left:
                        return False
                    self.current = earliest(left[0]) or left[0]
            elif strand.branches is not None:
                strand.join()
                self.current = earliest(strand) or strand
            elif not strand.begun:
                self.begin(strand)
            elif self.settled(strand):
                return True

    def begin(self, strand: Strand) -> None:
        """Begin a strand, and answer what needs no world."""
        strand.now = max(strand.now, self.now)
        strand.advance(None, None)
        while strand.command is not None and strand.branches is None and not self.settled(strand):
            pass

    def settled(self, strand: Strand) -> bool:
        """Answer what needs no world; true if the present command needs it."""
        command = strand.command
        kind: type = command.__class__
        if strand.line.times:
            self.plan.timed = True
        if command is CLOCK:
            self.plan.timed = True
            strand.now = strand.owner.journal.time = max(self.now, strand.now)
            strand.advance(strand.line.clock(), None)
            return False
        if kind not in STANDARD or kind in self.handlers:
            return True
        if kind is Together:
            strand.now = max(self.now, strand.now)
            strand.fork(command)
            return False
        if kind is Pick and command.count > 1:
            return True
        at = strand.now = max(self.now, strand.now)
        self.tell(strand, at, *self.standard(strand, command))
        return False

    def standard(self, strand: Strand, command: Any) -> tuple[Any, BaseException | None]:
        """Answer a command that needs no handler."""
        kind: type = command.__class__
        if kind is Delay:
            strand.now += command.seconds
        if kind is Now:
            self.plan.timed = True
            return strand.now, None
        if kind is Throw:
            return None, copy(command.error).with_traceback(None)
        return (0 if kind is Pick else None), None

    def tell(self, strand: Strand, at: float, answer: Any, failure: BaseException | None) -> None:
        """Tell a strand what came of its command, which was issued at a time."""
        command = strand.command
        self.told += 1
        if self.told > LONGEST:
            raise Misuse(
                f"After {LONGEST:,} commands the history is not over: let the model come to an "
                f"end with {short(command)}, or give the program fewer rungs."
            )
        if self.trace is not None:
            self.trace.append(Performed(at, command, answer, failure))
        if answer.__class__ not in ATOMS:
            self.answers.append((command, answer))
        if strand.now > at and strand.parent is not None:
            strand.pending = (answer, failure)
            self.current = earliest(self.owner.root) or strand
        else:
            strand.told(answer, failure)

    def options(self) -> tuple[Option, ...]:
        """Return the things that can happen here instead of what usually does."""
        plan, command = self.plan, self.current.command
        kind: type = command.__class__
        unhandled = kind is Pick and Pick not in self.handlers
        turns = [
            (process.number, leaf.path, process.name)
            for process in self.processes
            for leaf in process.root.leaves()
            if leaf is not self.current
        ]
        late = tuple([short(one) for one in self.on_the_way])
        key = (kind, command.count if unhandled else 0, self.changes, late, *turns)
        known = plan.interned.get(key)
        if known is None:
            made: list[Option] = []
            if unhandled:
                made += [Event("pick", one, f"picks {one}") for one in range(1, command.count)]
            elif command is not None:
                made += plan.faults_of(kind)
            if command is not None or plan.again:
                made += self.changes
            made += [Event("landing", n, f"only now is done: {one}") for n, one in enumerate(late)]
            made += [turn_to(*turn) for turn in turns]
            known = plan.interned[key] = tuple(made)
        return known

    def happen(self, option: Option | None) -> None:
        """Do one step: the usual one, or another."""
        if isinstance(option, Event) and option.kind != "pick":
            match option.kind:
                case "turn":
                    self.turn_to(option)
                case "change":
                    self.change(option)
                case _:
                    self.land(option)
        elif self.current.command.__class__ is Pick and Pick not in self.handlers:
            strand = self.current
            at = strand.now = max(self.now, strand.now)
            self.tell(strand, at, option.place if isinstance(option, Event) else 0, None)
        else:
            self.perform(option)

    def turn_to(self, event: Event) -> None:
        """Let another program or branch go on."""
        leaves = self.processes[event.place].root.leaves()
        self.current = next(leaf for leaf in leaves if leaf.path == event.path)

    def change(self, event: Event) -> None:
        """Let the world change by itself."""
        self.changes = tuple(one for one in self.changes if one != event)
        change = self.plan.changing[event.place]
        self.watched(lambda: change(self.world))

    def land(self, event: Event) -> None:
        """Let a command be done that was on its way."""
        command = self.on_the_way[event.place]
        self.on_the_way = self.on_the_way[: event.place] + self.on_the_way[event.place + 1 :]
        self.watched(lambda: self.landed(command))

    def landed(self, command: Any) -> None:
        """Do now what was on its way; nobody is told what comes of it."""
        try:
            self.handler_of(command.__class__)(command)
        except (AssertionError, Misuse):
            raise
        except Exception:
            return

    def perform(self, surprise: Any) -> None:
        """Perform the present command, or what happens to it instead."""
        strand, owner = self.current, self.owner
        command = strand.command
        self.performed += 1
        at = self.now = strand.now = max(self.now, strand.now)
        again = owner.recording and strand.line.first_again()
        answer: Any = None
        failure: Exception | None = None
        self.passed = 0
        if surprise is None or surprise.effect:
            breaks = Breaks(0 if surprise is None else surprise.part)
            handler = self.handlers.get(command.__class__) or self.handler_of(command.__class__)
            if owner.recording:
                handler = told_key(handler, f"{owner.journal.run}:{strand.line.place}", again)
            try:
                if self.watches and self.answers:
                    answer = self.watched(
                        lambda: strand.context.run(broken_off, handler, command, breaks)
                    )
                else:
                    answer = strand.context.run(broken_off, handler, command, breaks)
            except (AssertionError, Misuse):
                raise
            except Exception as error:
                failure = error.with_traceback(None)
            self.passed = breaks.passed
        if surprise is not None:
            failure = self.surprised(strand, command, surprise, failure)
            if surprise.start:
                self.plan.setting.forgets(self.world)
                owner.die(surprise.start, self.now)
                self.current = owner.root
                return
        self.tell(strand, at, answer if failure is None else None, failure)

    def surprised(
        self, strand: Strand, command: Any, surprise: Surprise, failure: Exception | None
    ) -> Exception | None:
        """Return the failure that the program is told; let the time go by until then."""
        if surprise.late:
            self.on_the_way += (command,)
        limit = strand.context.run(time_limit)
        if limit is not None and surprise.seconds >= limit:
            strand.now += limit
            failure = TimeoutError(f"it may take {limit:g} s")
        else:
            strand.now += surprise.seconds
            if surprise.failure is not None:
                failure = copy(surprise.failure)
        if strand.parent is None:
            self.now = max(self.now, strand.now)
        return failure

    def handler_of(self, kind: type) -> Handler:
        """Return the handler of a kind of command.

        Raises:
            Misuse: there is none.
        """
        handler: Handler = self.handlers.get(kind) or inherited(self.handlers, kind)
        return handler

    def watched(self, act: Callable[[], Any]) -> Any:
        """Let the world act, and notice when an answer that it has given changes by that.

        Raises:
            Misuse: one did.
        """
        if not self.watches or not self.answers:
            return act()
        before = [frozen(answer) for _, answer in self.answers]
        try:
            return act()
        finally:
            for (command, answer), known in zip(self.answers, before, strict=True):
                if frozen(answer) != known:
                    raise Misuse(
                        f"The answer to {short(command)} was changed after it was given, so it is "
                        "a part of the world: let the handler answer with a copy."
                    )


def told_key(handler: Handler, key: str, again: bool) -> Handler:
    """Return a handler that is told the key of its command, as in a durable run."""

    def told(command: Any) -> Any:
        token = ASKED.set(Asked(key, again))
        try:
            return handler(command)
        finally:
            ASKED.reset(token)

    return told


def earliest(root: Strand) -> Strand | None:
    """Return the strand below `root` that goes on first in virtual time."""
    if root.branches is None:
        return None if root.over else root
    return min(root.leaves(), key=time_of, default=None)


def turn_to(number: int, path: tuple[int, ...], name: str) -> Event:
    """Make the event that another program goes on, or another branch."""
    branch = ".".join(map(str, path))
    return Event("turn", number, f"{name}{branch} goes on", path)
