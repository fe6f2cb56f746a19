"""How the k-th wait of a run becomes seconds."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import TypeAlias, final

from .nat import DEEPEST

Schedule: TypeAlias = Callable[[int], float]
"""A function from k = 0, 1, 2, ... to the seconds of the k-th wait.

Whatever it says, a run never waits less than the wait before.
"""


@final
class Exponential:
    """Waits of `base * factor**k` seconds, at most `cap`.

    >>> [Exponential()(k) for k in range(4)]
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

    __slots__ = ("base", "cap", "factor")

    def __init__(self, base: float = 1.0, factor: float = 2.0, cap: float | None = None) -> None:
        if not (_is_finite(base) and base > 0):
            raise ValueError(f"base={base!r}: the first wait takes a number of seconds above 0.")
        if not (_is_finite(factor) and factor >= 1):
            raise ValueError(
                f"factor={factor!r}: a wait is never shorter than the one before, so "
                "the factor is 1 or more."
            )
        if cap is not None and not (_is_finite(cap) and cap >= base):
            raise ValueError(f"cap={cap!r}: the longest wait is at least the base, {base!r} s.")
        self.base = float(base)
        self.factor = float(factor)
        self.cap = None if cap is None else float(cap)
        try:
            longest = self(DEEPEST)
        except OverflowError:
            longest = float("inf")
        if not isfinite(longest):
            raise ValueError(
                f"factor={factor!r}: the waits grow out of all bounds; give a cap "
                "and a smaller factor."
            )

    def __call__(self, k: int) -> float:
        seconds = self.base * self.factor**k
        return seconds if self.cap is None or seconds < self.cap else self.cap

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Exponential):
            return NotImplemented
        return (self.base, self.factor, self.cap) == (other.base, other.factor, other.cap)

    def __hash__(self) -> int:
        return hash((Exponential, self.base, self.factor, self.cap))

    def __repr__(self) -> str:
        return f"Exponential(base={self.base!r}, factor={self.factor!r}, cap={self.cap!r})"


def seconds_of(schedule: Schedule, k: int) -> float:
    """The seconds of the k-th wait.

    Raises:
        ValueError: the schedule gave no usable number.
    """
    seconds = schedule(k)
    if not (_is_finite(seconds) and seconds >= 0):
        raise ValueError(
            f"The schedule {schedule!r} gave {seconds!r} for wait {k}: it has to give a finite "
            "number of seconds, 0 or more."
        )
    return seconds


def _is_finite(number: object) -> bool:
    try:
        return isinstance(number, float | int) and isfinite(number)
    except OverflowError:  # an int beyond all floats
        return False


powers_of_two = Exponential()
"""The default schedule: 1, 2, 4, 8, ... seconds."""
