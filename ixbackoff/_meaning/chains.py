"""Lists of steps that only grow, and the rungs of a ladder where they start and end."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

from .._words.commands import Misuse
from .._words.nat import name_of

Position: TypeAlias = int | None
"""How many waits are left; `ENDLESS` on a ladder without end, `None` where only the run tells."""


class Step:
    """One step.

    Attributes:
        start: the rung where it has to stand, if it says so.
        waits: whether it can issue a `Delay`; `None` where only the run will tell.
    """

    __slots__ = ()
    start: Position = None
    waits: bool | None = False

    def below(self, rung: Position) -> Position:
        """The rung after this step, when it stands at `rung`.

        Raises:
            Misuse: the step cannot stand there.
        """
        return rung

    def bound(self, rung: int) -> int:
        """A rung that the run is not above after this step, when it is not above `rung` before."""
        below = self.below(rung)
        return rung if below is None else below


class Chain:
    """An immutable list of steps: it grows at its end in constant time and shares its beginning."""

    __slots__ = ("_before", "_flat", "_last")
    _before: Chain | None
    _last: Step | None
    _flat: tuple[Step, ...] | None

    def steps(self) -> tuple[Step, ...]:
        """All steps from the first to the last; flattened once, in linear time."""
        if self._flat is None:
            reverse: list[Step] = []
            chain: Chain | None = self
            while chain is not None and chain._flat is None:
                if chain._last is not None:
                    reverse.append(chain._last)
                chain = chain._before
            reverse.reverse()
            begun = chain._flat if chain is not None and chain._flat is not None else ()
            self._flat = (*begun, *reverse)
        return self._flat


class Ladder(Chain):
    """A chain on a ladder: from the rung `start` down to the rung `end`."""

    __slots__ = ("_bound", "_end", "_start", "_waits")
    _start: int
    _end: Position
    _bound: int
    _waits: bool | None

    @property
    def start(self) -> int:
        """How many waits are left where it starts; `ENDLESS` on a ladder without end."""
        return self._start

    @property
    def end(self) -> Position:
        """How many waits are left where it ends; `None` where only the run will tell."""
        return self._end

    @property
    def bound(self) -> int:
        """How many waits are left at most where it ends."""
        return self._bound

    @property
    def waits(self) -> bool | None:
        """Whether it can wait; `None` where only the run will tell."""
        return self._waits


C = TypeVar("C", bound=Chain)


def chain(kind: type[C], before: Chain | None, last: Step | None) -> C:
    """Make a chain; the one place where they, and so attempts, are made."""
    made = object.__new__(kind)
    made._before = before
    made._last = last
    made._flat = None
    return made


L = TypeVar("L", bound=Ladder)


def ladder(kind: type[L], start: int) -> L:
    """Make a ladder without steps."""
    made = chain(kind, None, None)
    made._flat = ()
    made._start = made._end = made._bound = start
    made._waits = False
    return made


def longer(kind: type[L], before: Ladder, last: Step) -> L:
    """Make a ladder of `before` and one step more.

    Raises:
        Misuse: the step cannot stand where `before` ends.
    """
    made = chain(kind, before, last)
    made._start = before._start
    made._end = last.below(before._end)
    made._bound = last.bound(before._bound) if made._end is None else made._end
    waits = False if before._end == 0 else last.waits
    made._waits = True if before._waits or waits else before._waits if waits is False else waits
    return made


def continued(following: Ladder, rung: Position) -> Position:
    """The rung where `following` ends, when it begins at `rung`.

    Raises:
        Misuse: it begins elsewhere.
    """
    if rung is not None:
        check_start(following.start, rung)
    return following.end


def check_start(start: int, rung: int) -> None:
    """Check that a program which starts at `start` can go on where another one ends, at `rung`.

    Raises:
        Misuse: it cannot.
    """
    if start != rung:
        instead = ", or put its effect into the attempt before, so that both are tried together"
        raise Misuse(
            f"A program that ends at {name_of(rung)} cannot go on with one that starts at "
            f"{name_of(start)}: start the second with at({name_of(rung)})"
            f"{instead if start > rung else ''}."
        )


def counted(steps: int) -> str:
    return "1 step" if steps == 1 else f"{steps} steps"
