"""The seconds of work for a request: a number, or a distribution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log
from random import Random
from typing import TypeAlias

from ..._words.checks import above_zero

Work: TypeAlias = float | Callable[[Random], float]
"""Seconds, or a function that draws them from a source of random numbers."""


@dataclass(frozen=True)
class ExponentialWork:
    """Exponentially distributed seconds: most are short, and a few are long.

    >>> from random import Random
    >>> round(ExponentialWork(0.1)(Random(1)), 4)
    0.0144

    Attributes:
        mean: the mean of the seconds.

    Raises:
        ValueError: `mean` is not above 0.
    """

    mean: float

    def __post_init__(self) -> None:
        above_zero("mean", self.mean)

    def __call__(self, random: Random) -> float:
        return -log(1.0 - random.random()) * self.mean


@dataclass(frozen=True)
class LogNormalWork:
    """Log-normally distributed seconds: the usual distribution of measured service times.

    >>> from random import Random
    >>> round(LogNormalWork(0.1, sigma=0.6)(Random(1)), 4)
    0.1203

    Attributes:
        mean: the mean of the seconds.
        sigma: the standard deviation of their logarithm: 0.3 is narrow, 1 has a heavy tail.

    Raises:
        ValueError: `mean` or `sigma` is not above 0.
    """

    mean: float
    sigma: float

    def __post_init__(self) -> None:
        above_zero("mean", self.mean)
        if not 0 < self.sigma < inf:
            raise ValueError(f"sigma={self.sigma!r}: give a finite number above 0.")

    def __call__(self, random: Random) -> float:
        return random.lognormvariate(log(self.mean) - self.sigma**2 / 2, self.sigma)


def drawn(work: Work, random: Random) -> float:
    """Return the seconds of work for one request."""
    if not callable(work):
        return work
    seconds = work(random)
    check_seconds(work, seconds)
    return seconds


def check_seconds(giver: object, seconds: object) -> None:
    if not (isinstance(seconds, int | float) and 0 <= seconds < inf):
        raise ValueError(
            f"{giver!r} gives {seconds!r} s of work: give seconds, 0 or more, or a function that "
            "draws them from its argument, such as ExponentialWork(0.1)."
        )
