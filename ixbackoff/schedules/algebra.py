"""Schedules, whose waits never shorten, and the operators that combine them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from operator import add
from typing import TYPE_CHECKING, Final, final

from .._words.checks import finite, inf
from .._words.commands import Misuse
from .base import Chance, Timing, WaitFunction, any_chance, begun, chance_of, never_shorter

if TYPE_CHECKING:
    from random import Random


class Schedule(Timing):
    """Waits that never shorten: the `schedule` of a run.

    `a | b` is the longer of two waits, `a & b` the shorter (so a cap is `a & Constant(30)`),
    `a + b` their sum, and `2 * a` twice the wait. `a.jittered()` spreads clients that failed
    together.

    >>> from ixbackoff import Constant, Exponential
    >>> (Exponential() & Constant(5)).preview(5)
    [1.0, 2.0, 4.0, 5.0, 5.0]

    To derive a schedule of your own, define `begin`. A wait that would be shorter than the one
    before is made as long as that one, in runs and in schedules that are made from yours.

    >>> class Squares(Schedule):
    ...     def begin(self, chance=None):
    ...         return lambda k: (k + 1.0) ** 2
    >>> (Squares() | Constant(5)).preview(4)
    [5.0, 5.0, 9.0, 16.0]
    """

    __slots__ = ()
    shortens = False

    def longest(self, k: int) -> float:
        """Return an upper bound of the k-th wait in seconds; `inf` if none is known.

        >>> from ixbackoff import Exponential
        >>> Exponential().jittered(1.5).longest(3)
        12.0
        """
        if not self.deterministic:
            return inf
        waits = begun(self, None)
        return [waits(before) for before in range(k + 1)][-1]  # a wait depends on earlier ones

    def preview(self, wait_count: int, *, seed: int | None = None) -> list[float]:
        return list(accumulate(super().preview(wait_count, seed=seed), max))

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
        """Multiply each wait by a random number between 1 and `spread`, evenly distributed.

        Where waits grow by a factor below `spread`, a wait that would be shorter than the one
        before is made as long as that one.

        >>> from ixbackoff import Exponential
        >>> [round(seconds, 1) for seconds in Exponential().jittered().preview(4, seed=1)]
        [1.1, 3.7, 7.1, 10.0]

        Raises:
            ValueError: `spread` is less than 1, or not finite.
        """
        return Jittered(self, spread)

    def seeded(self, seed: int) -> Schedule:
        """Make a schedule that draws the same random numbers in every run: for tests.

        >>> from ixbackoff import Exponential
        >>> schedule = Exponential().jittered().seeded(7)
        >>> schedule.preview(3) == schedule.preview(3)
        True

        Raises:
            ValueError: `seed` is not a whole number.
        """
        return Seeded(self, seed)


class Pair(Schedule):
    """A schedule that combines the k-th waits of two others, by the function `combine`.

    A longer wait of either schedule never makes the combined wait shorter.
    """

    __slots__ = ("left", "right")
    sound = True
    sign: str
    combine: Callable[[float, float], float]

    def __init__(self, left: Schedule, right: Schedule) -> None:
        self.left: Final = left
        self.right: Final = right

    @property
    def deterministic(self) -> bool:
        return self.left.deterministic and self.right.deterministic

    def begin(self, chance: Chance | None = None) -> WaitFunction:
        left, right, combine = begun(self.left, chance), begun(self.right, chance), self.combine
        return lambda k: combine(left(k), right(k))

    def longest(self, k: int) -> float:
        return self.combine(self.left.longest(k), self.right.longest(k))

    def __repr__(self) -> str:
        return f"({self.left!r} {self.sign} {self.right!r})"


@final
class Longer(Pair):
    __slots__ = ()
    sign = "|"
    combine = staticmethod(max)


@final
class Shorter(Pair):
    __slots__ = ()
    sign = "&"
    combine = staticmethod(min)


@final
class Sum(Pair):
    __slots__ = ()
    sign = "+"
    combine = staticmethod(add)


class Changed(Schedule):
    """A schedule made from another one."""

    __slots__ = ("schedule",)
    sound = True

    def __init__(self, schedule: Schedule) -> None:
        if not isinstance(schedule, Schedule):
            raise TypeError(f"{self.__class__.__name__}({schedule!r}): give a Schedule.")
        self.schedule: Final = schedule

    @property
    def deterministic(self) -> bool:
        return self.schedule.deterministic

    def longest(self, k: int) -> float:
        return self.schedule.longest(k)


@final
class Scaled(Changed):
    __slots__ = ("times",)

    def __init__(self, schedule: Schedule, times: float) -> None:
        super().__init__(schedule)
        if not finite(times) >= 0:
            raise ValueError(f"{times!r} times a schedule: give a finite number, 0 or more.")
        self.times: Final = finite(times)

    def begin(self, chance: Chance | None = None) -> WaitFunction:
        waits, times = begun(self.schedule, chance), self.times
        return (lambda k: waits(k) * times) if times else lambda k: 0.0

    def longest(self, k: int) -> float:
        return self.schedule.longest(k) * self.times if self.times else 0.0

    def __repr__(self) -> str:
        return f"({self.times!r} * {self.schedule!r})"


@final
class Jittered(Changed):
    __slots__ = ("spread",)

    def __init__(self, schedule: Schedule, spread: float) -> None:
        super().__init__(schedule)
        if not finite(spread) >= 1:
            raise ValueError(
                f"jittered({spread!r}): give a spread of 1 or more: less would shorten waits."
            )
        self.spread: Final = finite(spread)

    @property
    def deterministic(self) -> bool:
        return False

    def begin(self, chance: Chance | None = None) -> WaitFunction:
        chance = chance or any_chance()
        waits, spread, uniform = begun(self.schedule, chance), self.spread, chance.uniform
        return never_shorter(lambda k: waits(k) * uniform(1.0, spread))

    def longest(self, k: int) -> float:
        return self.schedule.longest(k) * self.spread

    def __repr__(self) -> str:
        return f"{self.schedule!r}.jittered({self.spread!r})"


# `Jittered.begin` makes a function for each run, which remembers the longest wait of that run. For
# decorated functions and the clients of a fleet, `spread_out` is faster: it has no state, so all
# runs share one function (`_meaning/retrying.py` lengthens waits that would be too short). Both
# draw the same numbers, which `test_jitter_draws_what_the_program_draws` compares.
def spread_out(table: list[float], spread: float, chance: Random | None) -> WaitFunction:
    import random  # only if needed: a decorated function may never be called

    more, source = spread - 1.0, chance or random
    return lambda k: table[k] * (1.0 + more * source.random())  # as uniform(1, spread)


@final
class Seeded(Changed):
    __slots__ = ("seed",)

    def __init__(self, schedule: Schedule, seed: int) -> None:
        super().__init__(schedule)
        if not isinstance(seed, int):
            raise ValueError(f"seeded({seed!r}): give a whole number.")  # noqa: TRY004
        self.seed: Final = seed

    def begin(self, chance: Chance | None = None) -> WaitFunction:  # noqa: ARG002
        return begun(self.schedule, None if self.deterministic else chance_of(self.seed))

    def __repr__(self) -> str:
        return f"{self.schedule!r}.seeded({self.seed!r})"


def steady(timing: Timing) -> tuple[WaitFunction, float] | None:
    """Return the waits before jitter, which all runs share, and the `spread` of the jitter, or 1.

    Return `None` unless `timing` is deterministic, or `.jittered(...)` of a deterministic schedule.
    """
    if timing.deterministic:
        return timing.begin(), 1.0
    if isinstance(timing, Jittered) and timing.schedule.deterministic:
        return begun(timing.schedule, None), timing.spread
    return None


def check_schedule(schedule: object) -> None:
    if isinstance(schedule, Schedule):
        return
    hint = "such as Exponential(...)"
    if isinstance(schedule, Timing):
        hint += "; the waits of this one can get shorter, so it is only for simulations"
    elif isinstance(schedule, type):
        hint = f"{schedule.__name__}(...)"
    elif type(schedule).__module__.partition(".")[0] in ("tenacity", "urllib3", "stamina"):
        hint = "such as Exponential(base=1, cap=60), in place of that of the other library"
    elif callable(schedule):
        hint = "such as Computed(function)"
    elif isinstance(schedule, list | tuple):
        hint = f"Listed({schedule!r})"
    raise Misuse(f"schedule={schedule!r} is not a Schedule: give one, {hint}.")
