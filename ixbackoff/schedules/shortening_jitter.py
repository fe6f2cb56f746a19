"""Timings that can shorten waits, for comparisons in simulations; `run` refuses them."""

from __future__ import annotations

from typing import Final, final

from .._words.checks import finite
from .base import Chance, Timing, WaitFunction, any_chance
from .published import NormalJitter


class Shortening(Timing):
    """Waits that can be shorter than the one before; never a `Schedule` or a part of one.

    >>> from ixbackoff import Exponential
    >>> Exponential() | FullJitter()
    Traceback (most recent call last):
    TypeError: unsupported operand type(s) for |: 'Exponential' and 'FullJitter'
    """

    __slots__ = ()


class Jitter(Shortening):
    """The base of kinds of jitter, with `expo = min(cap, base * 2**n)`; n = 1 at the first wait.

    All kinds follow the simulation of "Exponential Backoff And Jitter" (Marc Brooker, AWS
    Architecture Blog, 2015).

    Args:
        base: seconds, above 0.
        cap: seconds of the longest wait.

    Raises:
        ValueError: `base` is not above 0, or `cap` is below `base`.
    """

    __slots__ = ("base", "cap")

    def __init__(self, base: float = 0.005, cap: float = 2.0) -> None:
        if not finite(base) > 0:
            raise ValueError(f"base={base!r}: give seconds, above 0.")
        if not finite(cap) >= finite(base):
            raise ValueError(f"cap={cap!r}: give at least the base, {base!r} s.")
        self.base: Final = finite(base)
        self.cap: Final = finite(cap)

    def expo(self, k: int) -> float:
        """Return the seconds of the k-th wait before jitter is applied."""
        return min(self.cap, self.base * 2.0 ** min(k + 1, 1000))


@final
class FullJitter(Jitter):
    """Random waits between 0 and `expo`.

    >>> all(0 <= seconds <= 0.02 for seconds in FullJitter(base=0.005, cap=0.02).preview(9))
    True
    """

    __slots__ = ()

    def begin(self, chance: Chance | None = None) -> WaitFunction:
        uniform = (chance or any_chance()).uniform
        return lambda k: uniform(0.0, self.expo(k))


@final
class EqualJitter(Jitter):
    """Random waits between half of `expo` and all of it.

    >>> 0.005 <= EqualJitter(base=0.005).preview(1)[0] <= 0.010
    True
    """

    __slots__ = ()

    def begin(self, chance: Chance | None = None) -> WaitFunction:
        uniform = (chance or any_chance()).uniform
        return lambda k: self.expo(k) / 2 + uniform(0.0, self.expo(k) / 2)


@final
class DecorrelatedJitter(Jitter):
    """Random waits between `base` and three times the wait before, at most `cap`.

    >>> 0.005 <= DecorrelatedJitter(base=0.005).preview(1)[0] <= 0.015
    True
    """

    __slots__ = ()

    def begin(self, chance: Chance | None = None) -> WaitFunction:
        uniform = (chance or any_chance()).uniform
        before, drawn = self.base, 0

        def waits(k: int) -> float:
            nonlocal before, drawn
            for _ in range(max(1, k + 1 - drawn)):  # each wait is computed from the one before
                before = min(self.cap, uniform(self.base, before * 3))
                drawn += 1
            return before

        return waits


@final
class RawNormalJitter(Shortening):
    """Waits of the pseudo-code of "Exponential Backoff or how not to crash a server", at least 0.

    >>> from ixbackoff.schedules.published import post_blue
    >>> waits = RawNormalJitter(post_blue).preview(30, seed=1)
    >>> sum(later < wait for wait, later in zip(waits, waits[1:])), max(waits) > 600
    (11, True)

    Args:
        schedule: the `NormalJitter` to compute with; unlike this class, it never shortens a wait.

    Raises:
        TypeError: `schedule` is not a `NormalJitter`.
    """

    __slots__ = ("schedule",)

    def __init__(self, schedule: NormalJitter) -> None:
        if not isinstance(schedule, NormalJitter):
            raise TypeError(f"RawNormalJitter({schedule!r}): give a NormalJitter(...).")
        self.schedule: Final = schedule

    @property
    def deterministic(self) -> bool:
        return self.schedule.deterministic

    def begin(self, chance: Chance | None = None) -> WaitFunction:
        delays = self.schedule.delays(chance)
        return lambda k: max(0.0, delays(k))  # the pseudo-code can give a negative number


@final
class Every(Shortening):
    """A try every `seconds`: the `every` of the fault tolerant shell.

    The seconds are counted from the start of a try (`from_start` is true), so a long try is
    followed by a short wait. To count from its end, use `Constant`.

    >>> Every(10).preview(2), Every(10).from_start
    ([10.0, 10.0], True)

    Raises:
        ValueError: `seconds` is negative or not finite.
    """

    __slots__ = ("seconds",)
    from_start = True

    def __init__(self, seconds: float) -> None:
        if not finite(seconds) >= 0:
            raise ValueError(f"Every({seconds!r}): give seconds, 0 or more.")
        self.seconds: Final = finite(seconds)

    @property
    def deterministic(self) -> bool:
        return True

    def begin(self, chance: Chance | None = None) -> WaitFunction:  # noqa: ARG002
        return lambda k: self.seconds
