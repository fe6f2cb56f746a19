"""The search: all histories with k surprises come before those with k + 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any, NamedTuple

from ..._words.commands import Misuse
from .history import Broken, Explored, History, Option, short
from .machines import Machine
from .printing import broken, reason_of
from .scope import Scope
from .states import frozen
from .walking import Walk

__tracebackhide__ = True

OFTEN = 200
"""After how many histories the clock is looked at."""

EVERY = 1.0
"""The seconds between two tellings of the progress."""

TRIES = 10


class Progress(NamedTuple):
    """How far a search is.

    Attributes:
        seconds: how long it has searched.
        surprises: how many surprises the histories have that it looks at now.
        explored: how much it has looked at.
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
    """A state in which other things can happen than usual.

    Attributes:
        step: the number of the step.
        options: what can happen.
        check: the hash of the state; it is the same when the history is run again.
    """

    step: int
    options: tuple[Option, ...]
    check: int


Layer = list[tuple[History, list[BranchPoint]]]


class Timed(Exception):
    """A program has asked for the time, so time is a part of each state."""


class SearchWalk(Walk):
    """Walks a history behind its last surprise, and notes where there can be another one."""

    def __init__(self, search: Search, history: History, check: int, deeper: bool) -> None:
        super().__init__(search.scope, history)
        self.search = search
        self.check = check
        self.deeper = deeper
        self.places: list[BranchPoint] = []

    def arrive(self, machine: Machine, step: int) -> bool:
        merge = self.scope.merge
        key = machine.key() if merge else 0
        if step == self.last:
            if self.checked(machine, key) != self.check:
                raise diverged(self.scope, self.history, machine)
            machine.watches = True
            return True
        if merge:
            if key in self.search.seen:
                return False
            self.search.seen.add(key)
        else:
            self.search.unmerged += 1
        if self.deeper and (options := machine.options()):
            self.places.append(BranchPoint(step, options, self.checked(machine, key)))
        return True

    def act(self, machine: Machine, step: int | None, option: Option | None) -> None:
        if step is None or step <= self.last or not self.deeper:
            machine.happen(option)
            return
        command, place = machine.current.command, self.places[-1] if self.places else None
        machine.happen(option)
        if machine.passed and place is not None and place.step == step:
            kind: type = command.__class__
            parts = range(1, machine.passed + 1)
            options = tuple([one for part in parts for one in self.scope.in_part(kind, part)])
            self.places.append(BranchPoint(step, options, place.check))

    def over(self, machine: Machine) -> bool:
        super().over(machine)
        if not (self.scope.again and self.scope.merge):
            return True
        key = machine.key()
        known = key in self.search.ends
        self.search.ends.add(key)
        return not known

    def checked(self, machine: Machine, key: int) -> int:
        """Return the hash of a state and its command."""
        return hash((key, frozen(machine.current.command)))


class Search:
    """A search through all histories of a scope.

    Args:
        scope: what is searched.
        surprises: how many surprises a history has at most.
        most: after how many different failures to stop.
        progress: it is told of the progress of a long search.

    Attributes:
        seen: the hashes of the states that were looked at.
        ends: the hashes of the states from which a clean run was looked at.
        unmerged: how many states were looked at, if they are not merged.
    """

    def __init__(
        self, scope: Scope, surprises: int, most: int, progress: Callable[[Progress], object]
    ) -> None:
        self.scope = scope
        self.surprises = surprises
        self.most = most
        self.progress = progress
        self.begun = self.told = monotonic()
        self.begin()

    def begin(self) -> None:
        """Begin the search, or begin it anew."""
        self.seen: set[int] = set()
        self.ends: set[int] = set()
        self.unmerged = self.histories = self.commands = 0
        self.found: dict[str, Broken] = {}

    @property
    def explored(self) -> Explored:
        return Explored(self.histories, len(self.seen) + self.unmerged, self.commands)

    def run(self) -> Explored:
        """Search.

        Raises:
            Broken: something does not hold in a history.
            ExceptionGroup: the failures, where more than one was wanted.
        """
        try:
            self.layers()
        except Timed:
            self.begin()
            self.layers()
        found = [*self.found.values()]
        if found and self.most == 1:
            raise found[0]
        if found:
            raise ExceptionGroup("histories in which something does not hold", found)
        return self.explored

    def layers(self) -> None:
        """Look at the histories without surprises, then at those with one, and so on."""
        layer: Layer = []
        for depth in range(self.surprises + 1):
            deeper = depth < self.surprises
            longer: Layer = []
            for history, check in histories(layer) if depth else [(History(), 0)]:
                places = self.one(history, check, deeper)
                if len(self.found) == self.most:
                    return
                if places:
                    longer.append((history, places))
                if self.histories % OFTEN == 0:
                    self.tell(depth)
            layer = longer

    def one(self, history: History, check: int, deeper: bool) -> list[BranchPoint]:
        """Look at one history; return where it can have another surprise."""
        self.histories += 1
        timed = self.scope.timed
        walk = SearchWalk(self, history, check, deeper)
        try:
            walk.run()
        except AssertionError as wrong:
            if reason_of(wrong) not in self.found:
                made = broken(self.scope, history, wrong, self.histories)
                self.found[made.reason] = made
        finally:
            if walk.machine is not None:
                self.commands += walk.machine.performed
                walk.machine.end()
        if self.scope.timed and not timed and self.scope.merge:
            raise Timed
        return walk.places

    def tell(self, depth: int) -> None:
        """Tell the progress, now and then."""
        now = monotonic()
        if now - self.told >= EVERY:
            self.told = now
            self.progress(Progress(now - self.begun, depth, self.explored))


def histories(layer: Layer) -> Iterator[tuple[History, int]]:
    """Give the histories with one surprise more; none of them is kept."""
    for history, places in layer:
        for step, options, check in places:
            for option in options:
                yield History((*history, (step, option))), check


def diverged(scope: Scope, history: History, machine: Machine) -> Misuse:
    """Make the error of a history that does not go on as it did before."""
    step, command = history[-1][0], machine.current.command
    before = History(history[:-1])
    for _ in range(TRIES):
        other = command_at(scope, before, step)
        if frozen(other) != frozen(command):
            return Misuse(
                f"After the same history a program issued {short(command)} where it had issued "
                f"{short(other)}: ask for time, chance and outside state by commands."
            )
    return Misuse(
        f"After the same history the world is another one before {short(command)}: world() and "
        "the handlers must not depend on time, on chance, or on what earlier histories have left."
    )


def command_at(scope: Scope, history: History, step: int) -> Any:
    """Return the command at a step of a history."""
    walk = WalkUntil(scope, history, step)
    walk.run()
    return walk.command


class WalkUntil(Walk):
    """Walks a history up to a step."""

    def __init__(self, scope: Scope, history: History, until: int) -> None:
        super().__init__(scope, history)
        self.until = until
        self.command: Any = None

    def arrive(self, machine: Machine, step: int) -> bool:
        self.command = machine.current.command
        return step < self.until
