"""Machines, each of which runs one history: a world, its processes, and the time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._limits.deadlines import time_limit
from ..._running.traces import Performed
from ..._words.commands import Handler, Misuse, inherited
from ..._words.standard_commands import CLOCK, Delay, Log, Now, Passage, Pick, Throw, Together
from ...durable.idempotency import CURRENT, CurrentCommand
from .allowed_surprises import Scope
from .hidden_state import holds_only
from .history import Occurrence, Option, short
from .partial_effects import Breaks, Broke
from .processes import Process, Strand, time_of
from .states import ATOMS, Places, frozen, may_change, state_of
from .surprises import Surprise, copied

__tracebackhide__ = True

STANDARD = frozenset({Delay, Log, Now, Passage, Pick, Throw, Together})
"""The commands that need no handler in a model."""

LONGEST = 10_000  # the greatest number of commands in one history, waits included
UNSEEN = "The world cannot be compared, so give state=, a function from it to plain data"
UNSEEN_HANDLERS = "A handler holds something that cannot be compared: keep it in the world"


class Machine:
    """The run of one history: a fresh world, and the processes in it."""

    def __init__(self, scope: Scope, trace: list[Performed] | None = None) -> None:
        self.scope = scope
        self.trace = trace  # a list for the performed commands, if they are wanted
        self.world = scope.setting.world()
        if scope.recorder is not None and not scope.recorder.record(self.world):
            scope.recorder = None
        self.interpreter = scope.setting.interpreter(self.world)
        self.handlers = self.interpreter._handlers
        # holding: the handlers that hold more than the world
        self.holding = [one for one in self.handlers.values() if not holds_only(one, self.world)]
        if self.holding:
            scope.recorder = None
        self.now = 0.0  # the seconds of virtual time; they only grow
        self.breaks = Breaks()
        self.context = self.breaks.context()
        self.processes = [self.process(number) for number in range(len(scope.programs))]
        self.current: Strand = self.processes[0].root  # the program or branch whose turn it is
        self.changes = scope.changes  # the changes of the world that have not happened yet
        self.on_the_way: tuple[Any, ...] = ()  # the late commands, which may be done at any time
        self.passed = 0  # the number of `may_break()` that the last effect passed
        self.performed = 0  # the number of performed commands
        self.answered = 0  # the number of answered commands, waits included
        self.watches = False  # whether the machine checks that answers do not change afterwards
        self.answers: list[tuple[Any, Any]] = []  # (command, answer), for answers that may change
        # Begin all now: otherwise two states could differ only in whether a program has begun.
        for process in self.processes:
            self.begin(process.root)

    def process(self, number: int) -> Process:
        program, how = self.scope.programs[number]
        given = (self.interpreter, self.context, self.scope.durable, self.now)
        return Process(number, program, how, *given)

    def begin_again(self) -> None:
        """Begin a run of the first program without surprises, in the current world."""
        again = self.process(0)
        self.end()
        self.processes, self.current = [again], again.root
        self.on_the_way = ()

    def end(self) -> None:
        """Break reference cycles, so that a history needs no garbage collection."""
        for process in self.processes:
            process.root.let_go()
            del process.root
        self.processes = []
        del self.current

    def key(self) -> int:
        """Return the hash of the whole state: equal states continue equally."""
        scope, timed, state = self.scope, self.scope.timed, self.scope.setting.state
        places = Places()
        if state is None:
            world = state_of(self.world, UNSEEN, places)
            if self.holding:
                places = Places()
                world = state_of([self.world, self.holding], UNSEEN_HANDLERS, places)
            if places.repeats:
                scope.recorder = None
        else:
            world = state_of(state(self.world), UNSEEN)
        known = tuple([process.state(timed) for process in self.processes])
        time = self.now if timed else None
        late = tuple(map(frozen, self.on_the_way))
        current = (self.owner.number, self.current.path)
        return hash((world, known, current, self.changes, late, time))

    @property
    def owner(self) -> Process:
        return self.current.owner

    def turn(self) -> bool:
        """Continue to the next step, a command that needs the world; return false at the end."""
        while True:
            strand, owner = self.current, self.owner
            self.on_the_way, owner.late = (*self.on_the_way, *owner.late), ()
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
            elif self.needs_world(strand):
                return True

    def begin(self, strand: Strand) -> None:
        """Begin a strand, and answer its commands that do not need the world."""
        strand.now = max(strand.now, self.now)
        strand.advance(None, None)
        while (
            strand.command is not None and strand.branches is None and not self.needs_world(strand)
        ):
            pass

    def needs_world(self, strand: Strand) -> bool:
        """Return whether the current command needs the world; if not, answer it."""
        command = strand.command
        kind: type = command.__class__
        if strand.line.times:
            self.scope.timed = True
        if kind not in STANDARD:
            return True
        if kind is Passage:
            strand.advance(None, None)
            return False
        if command is CLOCK:
            self.scope.timed = True
            strand.now = strand.owner.journal.time = max(self.now, strand.now)
            strand.advance(strand.line.clock(), None)
            return False
        if kind in self.handlers:
            return True
        if kind is Together:
            self.scope.recorder = None
            strand.now = max(self.now, strand.now)
            strand.fork(command)
            return False
        if kind is Pick and command.count > 1:
            return True
        at = strand.now = max(self.now, strand.now)
        self.answer(strand, at, *self.standard(strand, command))
        return False

    def standard(self, strand: Strand, command: Any) -> tuple[Any, BaseException | None]:
        """Return the answer and the failure of a command without a handler."""
        kind: type = command.__class__
        if kind is Delay:
            strand.now += command.seconds
        if kind is Now:
            self.scope.timed = True
            return strand.now, None
        if kind is Throw:
            return None, copied(command.error)
        return (0 if kind is Pick else None), None

    def answer(self, strand: Strand, at: float, answer: Any, failure: BaseException | None) -> None:
        """Record the outcome of a command that was issued at time `at`; pass it to the strand."""
        command = strand.command
        self.answered += 1
        if self.answered > LONGEST:
            raise Misuse(
                f"After {LONGEST:,} commands the history is not over: let the model answer "
                f"{short(command)} so that the program ends, or give the program fewer rungs."
            )
        if self.trace is not None:
            self.trace.append(Performed(at, command, answer, failure))
        if answer.__class__ not in ATOMS:
            self.answers.append((command, answer))
        if strand.now > at and strand.parent is not None:
            strand.pending = (answer, failure)
            self.current = earliest(self.owner.root) or strand
        else:
            strand.receive(answer, failure)

    def options(self, apart: bool = False) -> tuple[Option, ...]:
        """Return the possible surprises; if `apart`, leave out the turns of other programs."""
        scope, command = self.scope, self.current.command
        kind: type = command.__class__
        unhandled = kind is Pick and Pick not in self.handlers
        turns = [
            (process.number, leaf.path, process.name)
            for process in ([] if apart else self.processes)  # see `Recorder.apart`
            for leaf in process.root.leaves()
            if leaf is not self.current
        ]
        late = tuple([short(one) for one in self.on_the_way])
        beside = self.beside()
        others = (self.owner.name, beside)
        key = (kind, command.count if unhandled else 0, self.changes, late, others, *turns)
        known = scope.interned.get(key)
        if known is None:
            made: list[Option] = []
            if unhandled:
                made += [Occurrence("pick", one, f"picks {one}") for one in range(1, command.count)]
            elif command is not None:
                made += scope.faults_of(kind)
            if command is not None or scope.again:
                made += self.changes
            made += [
                Occurrence("landing", n, f"only now is done: {one}") for n, one in enumerate(late)
            ]
            for number, path, name in turns:
                text = f"{name}{'.'.join(map(str, path))} goes on"
                made.append(Occurrence("turn", number, text, path))
            if command is not None and not unhandled:
                made += scope.deaths_with_others(kind, self.owner.name, beside)
            known = scope.interned[key] = tuple(made)
        return known

    def beside(self) -> tuple[tuple[int, ...], ...]:
        """Return the paths of the other branches that may be performing a command."""
        leaves = self.owner.root.leaves()
        return tuple([one.path for one in leaves if one is not self.current and not one.pending])

    def happen(self, option: Any) -> None:
        """Take one step: with the surprise `option`, or as usual if it is `None`."""
        if option.__class__ is Occurrence and option.kind != "pick":
            occurrence: Occurrence = option
            match occurrence.kind:
                case "turn":
                    leaves = self.processes[occurrence.place].root.leaves()
                    self.current = next(leaf for leaf in leaves if leaf.path == occurrence.path)
                case "change":
                    self.changes = tuple(one for one in self.changes if one != occurrence)
                    self.watched(self.scope.changing[occurrence.place], self.world)
                case _:
                    late = [*self.on_the_way]
                    command = late.pop(occurrence.place)
                    self.on_the_way = tuple(late)
                    self.watched(self.landed, command)
        elif self.current.command.__class__ is Pick and Pick not in self.handlers:
            strand = self.current
            at = strand.now = max(self.now, strand.now)
            self.answer(strand, at, option.place if option.__class__ is Occurrence else 0, None)
        else:
            self.perform(option)

    def landed(self, command: Any, strand: Strand | None = None) -> None:
        """Perform a command, and drop its outcome."""
        handler = self.handler_of(command.__class__)
        if strand is not None and strand.owner.recording:
            handler = within(strand.line.current(strand.line.first_again()), handler)
        try:
            handler(command)
        except (AssertionError, Misuse):
            raise
        except Exception:
            return

    def perform(self, surprise: Any) -> None:
        """Perform the current command: with `surprise`, or as usual if it is `None`."""
        strand = self.current
        owner, command = strand.owner, strand.command
        self.performed += 1
        if strand.now < self.now:
            strand.now = self.now
        at = self.now = strand.now
        current = strand.line.current(strand.line.first_again()) if owner.recording else None
        answer: Any = None
        failure: Exception | None = None
        self.passed = 0
        if surprise is None or surprise.effect:
            handler = self.handler_of(command.__class__)
            if current is not None:
                handler = within(current, handler)
            breaks = self.breaks
            breaks.passed, breaks.at = 0, 0 if surprise is None else surprise.part
            try:
                if self.watches and self.answers:
                    answer = self.watched(strand.context.run, handler, command)
                else:
                    answer = strand.context.run(handler, command)
            except Broke:
                pass
            except (AssertionError, Misuse):
                raise
            except Exception as error:
                failure = error.with_traceback(None)
            self.passed, breaks.at = breaks.passed, 0
        if surprise is not None and surprise.beside:
            self.do_beside(surprise.beside)
        if surprise is not None:
            failure = self.surprised(strand, command, surprise, failure)
            if surprise.start:
                self.scope.setting.forgets(self.world)
                owner.die(surprise.start, self.now)
                self.current = owner.root
                return
        self.answer(strand, at, answer if failure is None else None, failure)

    def do_beside(self, paths: tuple[tuple[int, ...], ...]) -> None:
        """Perform the commands of other branches, whose process dies before the answers arrive."""
        for leaf in [one for one in self.owner.root.leaves() if one.path in paths]:
            if not leaf.begun:
                self.begin(leaf)
            if leaf.command is None or leaf.branches is not None or leaf.pending is not None:
                continue
            if leaf.command.__class__ not in STANDARD or leaf.command.__class__ in self.handlers:
                self.performed += 1
                leaf.context.run(self.landed, leaf.command, leaf)

    def surprised(
        self, strand: Strand, command: Any, surprise: Surprise, failure: Exception | None
    ) -> Exception | None:
        """Advance time by the seconds of a surprise; return the failure to throw into a program."""
        if surprise.late:
            self.on_the_way += (command,)
        limit = strand.context.run(time_limit)
        if limit is not None and surprise.seconds >= limit:
            strand.now += limit
            failure = TimeoutError(f"the time limit is {limit:g} s")
        else:
            strand.now += surprise.seconds
            if surprise.failure is not None:
                failure = copied(surprise.failure)
        if strand.parent is None:
            self.now = max(self.now, strand.now)
        return failure

    def handler_of(self, kind: type) -> Handler:
        """Return the handler of a kind of command; raise Misuse if there is none."""
        handler: Handler = self.handlers.get(kind) or inherited(self.handlers, kind)
        return handler

    def watched(self, act: Callable[..., Any], *given: Any) -> Any:
        """Call `act`; raise Misuse if the call changes an earlier answer."""
        self.answers = [known for known in self.answers if may_change(known[1])]
        if not self.watches or not self.answers:
            return act(*given)
        before = [frozen(answer) for _, answer in self.answers]
        try:
            return act(*given)
        finally:
            for (command, answer), known in zip(self.answers, before, strict=True):
                if frozen(answer) != known:
                    raise Misuse(
                        f"The answer to {short(command)} was changed after it was given, so it is "
                        "a part of the world: let the handler answer with a copy."
                    )


def within(current: CurrentCommand, handler: Handler) -> Handler:
    """Return a handler for which `current_command()` is `current`, as in a durable run."""

    def keyed(command: Any) -> Any:
        token = CURRENT.set(current)
        try:
            return handler(command)
        finally:
            CURRENT.reset(token)

    return keyed


def earliest(root: Strand) -> Strand | None:
    """Return the strand below `root` that continues first in virtual time."""
    if root.branches is None:
        return None if root.over else root
    return min(root.leaves(), key=time_of, default=None)
