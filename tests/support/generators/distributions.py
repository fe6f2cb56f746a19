"""Tests of how random numbers are distributed, with fixed seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import erf, sqrt
from random import Random
from typing import TypeAlias

from ixbackoff.schedules import Timing

Distribution: TypeAlias = Callable[[float], float]
"""A function from x to the share of numbers that are at most x."""

DRAWS = 10_000
LIMIT = 1.63
"""For one seed in 100, distance * sqrt(DRAWS) of right numbers is above it (Kolmogorov-Smirnov)."""


def distance(numbers: Sequence[float], distribution: Distribution) -> float:
    """Return the largest difference between drawn numbers and their distribution, over all x."""
    count = len(numbers)
    shares = [distribution(number) for number in sorted(numbers)]
    above = max((place + 1) / count - share for place, share in enumerate(shares))
    below = max(share - place / count for place, share in enumerate(shares))
    return max(above, below)


def assert_distributed(numbers: Sequence[float], distribution: Distribution) -> None:
    far = distance(numbers, distribution) * sqrt(len(numbers))
    assert far < LIMIT, f"{far:.2f} / sqrt({len(numbers)}) away from the distribution"


def uniform(least: float, most: float) -> Distribution:
    return lambda x: min(1.0, max(0.0, (x - least) / (most - least)))


def normal(mean: float, deviation: float) -> Distribution:
    return lambda x: (1 + erf((x - mean) / deviation / sqrt(2))) / 2


def drawn(timing: Timing, k: int, seed: int = 2009) -> list[float]:
    """Draw the k-th wait of many runs, without the waits before it."""
    chance = Random(seed)  # noqa: S311
    return [timing.begin(chance)(k) for _ in range(DRAWS)]


class Fixed:
    """A source of fixed numbers: R for uniform ones, z deviations for normal ones, z means."""

    def __init__(self, r: float = 0.0, z: float = 0.0) -> None:
        self.r = r
        self.z = z

    def uniform(self, a: float, b: float, /) -> float:
        assert a <= self.r <= b
        return self.r

    def normalvariate(self, mu: float, sigma: float, /) -> float:
        return mu + self.z * sigma

    def expovariate(self, lambd: float, /) -> float:
        return self.z / lambd
