"""`Sample`: the results of one function with many seeds, their shares and quantiles."""

from __future__ import annotations

from collections.abc import Callable
from math import floor, inf
from typing import Generic, NamedTuple, TypeVar

R = TypeVar("R")


class Sample(NamedTuple, Generic[R]):
    """The results of one function with many seeds.

    >>> sample = Sample((0, 1, 2, 3), (5.0, 8.0, 9.0, 6.0))
    >>> sample.share(lambda seconds: seconds > 5), sample.where(lambda seconds: seconds > 7)
    (0.75, (1, 2))

    Attributes:
        seeds: the seeds, in the order in which they were given.
        results: the result of each seed, in the same order.
    """

    seeds: tuple[int, ...]
    results: tuple[R, ...]

    def where(self, holds: Callable[[R], object]) -> tuple[int, ...]:
        """Return the seeds whose results make `holds` true."""
        pairs = zip(self.seeds, self.results, strict=True)
        return tuple(seed for seed, result in pairs if holds(result))

    def share(self, holds: Callable[[R], object]) -> float:
        """Return the share of the seeds whose results make `holds` true, 0 to 1."""
        return len(self.where(holds)) / len(self.seeds)

    def quantile(self, of: Callable[[R], float | None], at: float = 0.5) -> float:
        """Return a quantile of the results' numbers, by default the median.

        Interpolates between two results. `None` counts as infinite, as for a service that never
        recovers: then the quantile can be infinite.

        >>> sample = Sample((0, 1, 2, 3), (5.0, 8.0, None, 6.0))
        >>> sample.quantile(lambda seconds: seconds), sample.quantile(lambda seconds: seconds, 1)
        (7.0, inf)

        Args:
            of: returns the number of a result.
            at: the share, 0 to 1: 0 is the least, 0.5 the median and 1 the most.

        Raises:
            ValueError: `at` is not from 0 to 1.
        """
        if not 0 <= at <= 1:
            raise ValueError(f"at={at!r}: give a share, 0 to 1.")
        numbers = sorted(inf if (number := of(one)) is None else number for one in self.results)
        position = at * (len(numbers) - 1)
        below = floor(position)
        part = position - below
        if not part or numbers[below] == numbers[below + 1]:
            return numbers[below]
        return numbers[below] + part * (numbers[below + 1] - numbers[below])
