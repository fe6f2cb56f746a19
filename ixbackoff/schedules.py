"""Schedules: how the k-th wait of a run becomes seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from typing import final

from .nat import DEEPEST
from .timings import Chance, Schedule, Timing, Waits, is_finite, never_shorter

__all__ = [
    "Chance",
    "Computed",
    "Constant",
    "Exponential",
    "Fibonacci",
    "Listed",
    "Schedule",
    "Timing",
    "Waits",
    "powers_of_two",
]


class Series(Schedule):
    """A schedule that is a plain function of k."""

    __slots__ = ()

    @property
    def deterministic(self) -> bool:
        return True

    def begin(self, chance: Chance | None = None) -> Waits:  # noqa: ARG002
        return self.seconds

    def seconds(self, k: int) -> float:
        """The seconds of the k-th wait."""
        raise NotImplementedError


@final
class Exponential(Series):
    """Waits of `base * factor**k` seconds, at most `cap`.

    >>> Exponential().preview(4)
    [1.0, 2.0, 4.0, 8.0]
    >>> Exponential(base=0.1, factor=3, cap=0.5)
    Exponential(base=0.1, factor=3.0, cap=0.5)

    The defaults are the powers of two of "Exponential backoff with indexed monads" (Mike Solomon,
    2021): 2^(max - position) seconds.

    Args:
        base: seconds of the first wait, more than 0.
        factor: how much longer each wait is than the one before, 1 or more.
        cap: seconds of the longest wait, at least `base`, or `None`.

    Raises:
        ValueError: a number is out of these bounds, or the waits grow out of all bounds.
    """

    __slots__ = ("base", "factor", "cap")

    def __init__(self, base: float = 1.0, factor: float = 2.0, cap: float | None = None) -> None:
        if not (is_finite(base) and base > 0):
            raise ValueError(f"base={base!r}: the first wait takes a number of seconds above 0.")
        if not (is_finite(factor) and factor >= 1):
            raise ValueError(
                f"factor={factor!r}: a wait is never shorter than the one before, so "
                "the factor is 1 or more."
            )
        if cap is not None and not (is_finite(cap) and cap >= base):
            raise ValueError(f"cap={cap!r}: the longest wait is at least the base, {base!r} s.")
        self.base = float(base)
        self.factor = float(factor)
        self.cap = None if cap is None else float(cap)
        try:
            longest = self.seconds(DEEPEST)
        except OverflowError:
            longest = inf
        if longest == inf:
            raise ValueError(
                f"factor={factor!r}: the waits grow out of all bounds; give a cap "
                "and a smaller factor."
            )

    def seconds(self, k: int) -> float:
        seconds = self.base * self.factor**k
        return seconds if self.cap is None or seconds < self.cap else self.cap


@final
class Constant(Series):
    """Waits that are all the same; behind `&`, a cap.

    >>> Constant(2).preview(3)
    [2.0, 2.0, 2.0]

    Raises:
        ValueError: `every` is negative or not finite.
    """

    __slots__ = ("every",)

    def __init__(self, every: float) -> None:
        if not (is_finite(every) and every >= 0):
            raise ValueError(f"Constant({every!r}): give seconds, 0 or more.")
        self.every = float(every)

    def seconds(self, k: int) -> float:  # noqa: ARG002
        return self.every


@final
class Fibonacci(Series):
    """Waits of 1, 1, 2, 3, 5, 8, ... times `base` seconds: each is the sum of the two before.

    >>> Fibonacci(0.5).preview(6)
    [0.5, 0.5, 1.0, 1.5, 2.5, 4.0]

    Raises:
        ValueError: `base` is not above 0, or not finite.
    """

    __slots__ = ("base",)

    def __init__(self, base: float = 1.0) -> None:
        if not (is_finite(base) and base > 0 and is_finite(base * 20_000)):
            raise ValueError(f"Fibonacci({base!r}): the first wait takes seconds above 0.")
        self.base = float(base)

    def seconds(self, k: int) -> float:
        this, following = 1, 1
        for _ in range(k):
            this, following = following, this + following
        return self.base * this


@final
class Listed(Series):
    """These waits, and after them the last one again.

    >>> Listed([1, 5, 30]).preview(5)
    [1.0, 5.0, 30.0, 30.0, 30.0]

    Raises:
        ValueError: there are none, one is shorter than the one before, negative or not finite.
    """

    __slots__ = ("waits",)

    def __init__(self, waits: Iterable[float]) -> None:
        given = tuple(waits)
        if not given or not all(is_finite(wait) and wait >= 0 for wait in given):
            raise ValueError(f"Listed({given!r}): give seconds, 0 or more, at least one number.")
        if list(given) != sorted(given):
            raise ValueError(f"Listed({given!r}): a wait is never shorter than the one before.")
        self.waits = tuple(float(wait) for wait in given)

    def seconds(self, k: int) -> float:
        return self.waits[min(k, len(self.waits) - 1)]

    def __repr__(self) -> str:
        return f"Listed({list(self.waits)!r})"


@final
class Computed(Schedule):
    """What a function of yours makes of k alone. Where it would shorten, it is as long as before.

    >>> Computed(lambda k: (k + 1) ** 2).preview(4)
    [1, 4, 9, 16]

    Raises:
        TypeError: it is no function.
    """

    __slots__ = ("function",)

    def __init__(self, function: Callable[[int], float]) -> None:
        if not callable(function):
            raise TypeError(f"Computed({function!r}): give a function from k to seconds.")
        self.function = function

    @property
    def deterministic(self) -> bool:
        return True

    def longest(self, k: int) -> float:
        waits = self.begin()
        return max(waits(before) for before in range(k + 1))

    def begin(self, chance: Chance | None = None) -> Waits:  # noqa: ARG002
        return never_shorter(lambda k: usable(self.function(k), k, self))


def usable(seconds: float, k: int, schedule: Timing) -> float:
    """`seconds`, if one can wait so long.

    Raises:
        ValueError: the schedule gave no usable number.
    """
    if (seconds.__class__ is float and 0.0 <= seconds < inf) or (
        is_finite(seconds) and seconds >= 0
    ):
        return seconds
    raise ValueError(
        f"The schedule {schedule!r} gave {seconds!r} for wait {k}: it has to give a finite "
        "number of seconds, 0 or more."
    )


powers_of_two = Exponential()
"""The default schedule: 1, 2, 4, 8, ... seconds."""
