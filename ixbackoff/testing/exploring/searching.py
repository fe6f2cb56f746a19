"""The search: all histories with k surprises come before those with k + 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from time import monotonic
from typing import Any, NamedTuple

from ..._words.commands import Misuse
from .allowed_surprises import Scope
from .checked_history_run import Walk
from .hidden_state import WAYS_ROUND, check_unchanged, variables
from .history import Broken, Explored, History, Occurrence, Option, short
from .history_execution import Machine
from .printing import broken, reason_of
from .shared_cells import Recorder
from .states import NOT_PLAIN, frozen, state_of

__tracebackhide__ = True

OFTEN = 200  # the number of histories between two readings of the clock
EVERY = 1.0  # the seconds between two reports of the progress

Check = tuple[int, Any]
"""The hash of a state, and the command in it; if a history is run again, both are the same."""


class Progress(NamedTuple):
    """The progress of a search.

    Attributes:
        seconds: the seconds since its beginning.
        surprises: the number of surprises in the current histories.
        explored: the size of the search so far.
    """

    seconds: float
    surprises: int
    explored: Explored

    def __str__(self) -> str:
        histories, states, _ = self.explored
        return (
            f"{histories:,} histories, {states:,} states, now with {self.surprises} "
            f"{'surprise' if self.surprises == 1 else 'surprises'}, after {self.seconds:.0f} s"
        )


class BranchPoint(NamedTuple):
    """A state before a step in which a surprise can happen."""

    step: int
    options: tuple[Option, ...]
    check: Check


Layer = list[tuple[History, list[BranchPoint]]]


class Again(Exception):
    """A signal to search again: a program asks for the time, or shares cells unexpectedly."""


class SearchWalk(Walk):
    """A walk that records the branch points after the last surprise of its history."""

    def __init__(self, search: Search, history: History, check: Check, deeper: bool) -> None:
        super().__init__(search.scope, history)
        self.search = search
        self.check = check
        self.deeper = deeper
        self.places: list[BranchPoint] = []
        self.command = 0  # the hash of the current command

    def arrive(self, machine: Machine, step: int) -> bool:
        merge = self.scope.merge
        key = machine.key() if merge else 0
        recorder, command = self.scope.recorder, machine.current.command
        if step == self.last or recorder is not None:
            self.command = state_of(command, NOT_PLAIN)
        if step == self.last:
            if (key, self.command) != (self.check[0], state_of(self.check[1], NOT_PLAIN)):
                raise diverged(self.check[1], machine.current.command)
            machine.watches = True
            return True
        if merge:
            if key in self.search.seen:
                return False
            self.search.seen.add(key)
        else:
            self.search.unmerged += 1
        if self.deeper:
            user = machine.owner.number
            apart = recorder is not None and recorder.apart(user, self.command)
            if options := machine.options(apart):
                self.places.append(BranchPoint(step, options, (key, command)))
        return True

    def act(self, machine: Machine, step: int | None, option: Option | None) -> None:
        if step is None or step < self.last:
            machine.happen(option)
            return
        command, place = machine.current.command, self.places[-1] if self.places else None
        self.happen(machine, option)
        if machine.passed and place is not None and place.step == step:
            kind: type = command.__class__
            parts = range(1, machine.passed + 1)
            options = tuple([one for part in parts for one in self.scope.in_part(kind, part)])
            self.places.append(BranchPoint(step, options, place.check))

    def happen(self, machine: Machine, option: Option | None) -> None:
        """Take a step; note the cells that it touches, under the number of its program.

        Cells that a change or a late command touches are noted under -1.
        """
        scope, recorder = self.scope, self.scope.recorder
        if recorder is None:
            machine.happen(option)
            return
        alone = isinstance(option, Occurrence) and option.kind != "pick"
        user, command = (-1, 0) if alone else (machine.owner.number, self.command)
        recorder.touched.clear()
        try:
            machine.happen(option)
        finally:
            if (recorder.touched or option is None) and not recorder.note(user, command):
                scope.recorder = None

    def check_always(self, machine: Machine) -> None:
        recorder = self.scope.recorder
        if recorder is None:
            super().check_always(machine)
            return
        recorder.touched.clear()
        super().check_always(machine)
        if not recorder.see():
            self.scope.recorder = None

    def over(self, machine: Machine) -> bool:
        super().over(machine)
        if not (self.scope.again and self.scope.merge):
            return True
        key = machine.key()
        known = key in self.search.ends
        self.search.ends.add(key)
        return not known


@dataclass(eq=False)
class Search:
    """A search through all histories of a scope."""

    scope: Scope
    surprises: int
    most: int
    progress: Callable[[Progress], object]

    def __post_init__(self) -> None:
        self.begun = self.reported = monotonic()
        self.begin()

    def begin(self) -> None:
        self.seen: set[int] = set()  # the hashes of the visited states
        self.ends: set[int] = set()  # the hashes of end states after which an additional run began
        self.unmerged = self.histories = self.commands = 0
        self.found: dict[str, Broken] = {}

    @property
    def explored(self) -> Explored:
        return Explored(self.histories, len(self.seen) + self.unmerged, self.commands)

    def run(self) -> Explored:
        """Search; raise the first failure, or an ExceptionGroup if `most` is above 1."""
        scope, setting = self.scope, self.scope.setting
        world = setting.world()
        handlers = setting.interpreter(world)._handlers.values()
        model = (setting.world, setting.interpreter, setting.forgets, *setting.changes.values())
        shared = [*model, *handlers], [setting.always, scope.at_end]
        before = variables(world, *shared)
        # Whether every change may also happen after the last command.
        ends = scope.again or not scope.changes
        if setting.state is None and scope.merge and len(scope.programs) > 1 and ends:
            scope.recorder = None if WAYS_ROUND & before.keys() else Recorder()
        for times in count():
            with suppress(Again):
                self.layers()
                break
            scope.recorder = scope.recorder if times < 5 else None  # at last try all orders
            self.begin()
        check_unchanged(before, variables(world, *shared))
        found = [*self.found.values()]
        if found:
            many = "histories in which a check fails"
            raise found[0] if self.most == 1 else ExceptionGroup(many, found)
        return self.explored

    def layers(self) -> None:
        """Run the history without surprises, then those with one, and so on."""
        layer: Layer = []
        recorder = self.scope.recorder
        if recorder is not None and not recorder.touches:
            self.explore(History(), (0, None), deeper=False)  # learn which cells commands touch
            if not any(recorder.apart(*command) for command in recorder.touches):
                self.scope.recorder = None  # a recorder would let the search leave out no history
            raise Again
        if recorder is not None:
            recorder.grown = False
        for depth in range(self.surprises + 1):
            longer: Layer = []
            for history, check in histories(layer) if depth else [(History(), (0, None))]:
                places = self.explore(history, check, depth < self.surprises)
                if len(self.found) == self.most:
                    return
                if places:
                    longer.append((history, places))
                if self.histories % OFTEN == 0:
                    self.report(depth)
            layer = longer

    def explore(self, history: History, check: Check, deeper: bool) -> list[BranchPoint]:
        self.histories += 1
        scope, timed, recorder = self.scope, self.scope.timed, self.scope.recorder
        walk = SearchWalk(self, history, check, deeper)
        try:
            walk.run()
        except AssertionError as wrong:
            reason, scope.recorder = reason_of(wrong), None
            if reason not in self.found:
                made = broken(scope, history, wrong, self.histories)  # a rerun without recorder
                self.found[made.reason] = made
                if made.reason == reason and self.most == 1:  # otherwise try all orders
                    scope.recorder = recorder
        finally:
            if walk.machine is not None:
                self.commands += walk.machine.performed
                walk.machine.end()
        if scope.timed:
            scope.recorder = None
        if (scope.timed and not timed and scope.merge) or (
            recorder is not None and (scope.recorder is None or recorder.grown)
        ):
            raise Again
        return walk.places

    def report(self, depth: int) -> None:
        now = monotonic()
        if now - self.reported >= EVERY:
            self.reported = now
            self.progress(Progress(now - self.begun, depth, self.explored))


def histories(layer: Layer) -> Iterator[tuple[History, Check]]:
    """Yield the histories with one more surprise, one at a time to save memory."""
    for history, places in layer:
        for step, options, check in places:
            for option in options:
                yield History((*history, (step, option))), check


def diverged(before: object, command: object) -> Misuse:
    """Make the error of a history that runs in another way than before."""
    if frozen(before) != frozen(command):
        return Misuse(
            f"After the same history a program issued {short(command)} where it had issued "
            f"{short(before)}: read time, chance and outside state by commands."
        )
    return Misuse(
        f"After the same history the world differs before {short(command)}: world() and the "
        "handlers must not depend on time, on chance, or on state that earlier histories left."
    )
