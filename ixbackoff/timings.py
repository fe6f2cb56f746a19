"""What turns k into the seconds of the k-th wait, and the algebra of what never shortens."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from math import inf, isfinite
from operator import add
from typing import Protocol, TypeAlias, final

Waits: TypeAlias = Callable[[int], float]
"""The waits of one run: from k to the seconds of the k-th wait, asked for with growing k."""


class Chance(Protocol):
    """Where random numbers come from: a `random.Random`, or the module `random` itself."""

    def uniform(self, a: float, b: float, /) -> float: ...

    def normalvariate(self, mu: float, sigma: float, /) -> float: ...


class Timing:
    """Seconds of waits. A `Schedule` never shortens them; a `Shortening` may, in simulations.

    It is an immutable value, shared by any number of programs, threads and tasks; what belongs to
    one run is in what `begin` returns.

    Attributes:
        deterministic: whether every run waits the same.
        from_start: whether a wait is measured from the start of the try before it, not its end.
    """

    __slots__ = ()
    from_start = False

    @property
    def deterministic(self) -> bool:
        return False

    def begin(self, chance: Chance | None = None) -> Waits:
        """The waits of one run, with random numbers from `chance`, by default Python's own."""
        raise NotImplementedError(f"{self.__class__.__name__} has no begin().")

    def preview(self, waits: int, *, seed: int | None = None) -> list[float]:
        """The seconds of the first waits of one run; with the same `seed`, the same run.

        >>> from ixbackoff import Exponential
        >>> Exponential(base=0.5).preview(4)
        [0.5, 1.0, 2.0, 4.0]
        """
        run = self.begin(None if self.deterministic else seeded(seed))
        return [run(k) for k in range(waits)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Timing):
            return NotImplemented
        return self.__class__ is other.__class__ and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash((self.__class__, *self._fields().items()))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self._fields().items())
        return f"{self.__class__.__name__}({fields})"

    def _fields(self) -> dict[str, object]:
        names = [name for base in self.__class__.__mro__ for name in getattr(base, "__slots__", ())]
        return {name: getattr(self, name) for name in names}


class Schedule(Timing):
    """Waits that never shorten: what `run` takes.

    `a | b` is the longer of two, `a & b` the shorter (so a cap is written: `a & Constant(30)`),
    `a + b` their sum, `2 * a` twice as long, and `a.jittered()` spreads clients that failed
    together.

    >>> from ixbackoff import Exponential
    >>> from ixbackoff.schedules import Constant
    >>> (Exponential() & Constant(5)).preview(5)
    [1.0, 2.0, 4.0, 5.0, 5.0]

    Derive your own from it with a `begin`. Should one shorten nevertheless, a run does not.
    """

    __slots__ = ()

    def longest(self, k: int) -> float:
        """The most seconds that the k-th wait can take; `inf` if nothing bounds it."""
        return self.begin()(k) if self.deterministic else inf

    def preview(self, waits: int, *, seed: int | None = None) -> list[float]:
        return list(accumulate(super().preview(waits, seed=seed), max))

    def __or__(self, other: Schedule) -> Schedule:
        if not isinstance(other, Schedule):
            return NotImplemented
        return Longer(self, other)

    def __and__(self, other: Schedule) -> Schedule:
        if not isinstance(other, Schedule):
            return NotImplemented
        return Shorter(self, other)

    def __add__(self, other: Schedule) -> Schedule:
        if not isinstance(other, Schedule):
            return NotImplemented
        return Sum(self, other)

    def __mul__(self, times: float) -> Schedule:
        return Scaled(self, times)

    def __rmul__(self, times: float) -> Schedule:
        return Scaled(self, times)

    def jittered(self, spread: float = 2.0) -> Schedule:
        """Each wait times a random number between 1 and `spread`, evenly distributed.

        Where the waits grow by `spread` or more, none can come out shorter than the one before;
        where they grow by less, one that would is as long as the one before.

        >>> from ixbackoff import Exponential
        >>> [round(seconds, 1) for seconds in Exponential().jittered().preview(4, seed=1)]
        [1.1, 3.7, 7.1, 10.0]

        Raises:
            ValueError: `spread` is less than 1, or not finite.
        """
        return Jittered(self, spread)

    def seeded(self, seed: int) -> Schedule:
        """The same, with the same random numbers in every run: for tests.

        >>> from ixbackoff import Exponential
        >>> schedule = Exponential().jittered().seeded(7)
        >>> schedule.preview(3) == schedule.preview(3)
        True
        """
        return Seeded(self, seed)


class Pair(Schedule):
    """Two schedules, wait by wait."""

    __slots__ = ("left", "right")
    sign: str
    of: Callable[[float, float], float]

    def __init__(self, left: Schedule, right: Schedule) -> None:
        self.left = left
        self.right = right

    @property
    def deterministic(self) -> bool:
        return self.left.deterministic and self.right.deterministic

    def begin(self, chance: Chance | None = None) -> Waits:
        left, right, of = self.left.begin(chance), self.right.begin(chance), self.of
        return lambda k: of(left(k), right(k))

    def longest(self, k: int) -> float:
        return self.of(self.left.longest(k), self.right.longest(k))

    def __repr__(self) -> str:
        return f"({self.left!r} {self.sign} {self.right!r})"


@final
class Longer(Pair):
    """The longer of two waits."""

    __slots__ = ()
    sign = "|"
    of = staticmethod(max)


@final
class Shorter(Pair):
    """The shorter of two waits."""

    __slots__ = ()
    sign = "&"
    of = staticmethod(min)


@final
class Sum(Pair):
    """Two waits, one after the other."""

    __slots__ = ()
    sign = "+"
    of = staticmethod(add)


@final
class Scaled(Schedule):
    """Waits so many times as long."""

    __slots__ = ("schedule", "times")

    def __init__(self, schedule: Schedule, times: float) -> None:
        if not is_finite(times) or times < 0:
            raise ValueError(f"{times!r} times a schedule: give a finite number, 0 or more.")
        self.schedule = schedule
        self.times = float(times)

    @property
    def deterministic(self) -> bool:
        return self.schedule.deterministic

    def begin(self, chance: Chance | None = None) -> Waits:
        waits, times = self.schedule.begin(chance), self.times
        return lambda k: waits(k) * times

    def longest(self, k: int) -> float:
        return self.schedule.longest(k) * self.times if self.times else 0.0

    def __repr__(self) -> str:
        return f"{self.times!r} * {self.schedule!r}"


@final
class Jittered(Schedule):
    """Waits times a random number between 1 and `spread`."""

    __slots__ = ("schedule", "spread")

    def __init__(self, schedule: Schedule, spread: float) -> None:
        if not is_finite(spread) or spread < 1:
            raise ValueError(
                f"jittered({spread!r}): the spread is 1 or more, since less would shorten waits."
            )
        self.schedule = schedule
        self.spread = float(spread)

    def begin(self, chance: Chance | None = None) -> Waits:
        chance = chance or any_chance()
        waits, spread, uniform = self.schedule.begin(chance), self.spread, chance.uniform
        return never_shorter(lambda k: waits(k) * uniform(1.0, spread))

    def longest(self, k: int) -> float:
        return self.schedule.longest(k) * self.spread

    def __repr__(self) -> str:
        return f"{self.schedule!r}.jittered({self.spread!r})"


@final
class Seeded(Schedule):
    """The same random numbers in every run."""

    __slots__ = ("schedule", "seed")

    def __init__(self, schedule: Schedule, seed: int) -> None:
        self.schedule = schedule
        self.seed = seed

    def begin(self, chance: Chance | None = None) -> Waits:  # noqa: ARG002
        return self.schedule.begin(seeded(self.seed))

    def longest(self, k: int) -> float:
        return self.schedule.longest(k)

    def __repr__(self) -> str:
        return f"{self.schedule!r}.seeded({self.seed!r})"


def never_shorter(waits: Waits) -> Waits:
    """The same, where none is shorter than the one before."""
    shortest = 0.0

    def longer(k: int) -> float:
        nonlocal shortest
        shortest = max(shortest, waits(k))
        return shortest

    return longer


def seeded(seed: int | None) -> Chance:
    from random import Random

    return Random(seed)  # noqa: S311


def any_chance() -> Chance:
    """Python's own random numbers: shared by threads, and others after a fork."""
    import random

    return random


def is_finite(number: object) -> bool:
    try:
        return isinstance(number, float | int) and isfinite(number)
    except OverflowError:  # an int beyond all floats
        return False
