"""MIN(R * T * F^N, M), and in closed form when clients notice that an outage is over."""

from __future__ import annotations

from math import ceil, inf, log
from typing import NamedTuple

from ....schedules.algebra import Schedule
from ....schedules.kinds import Constant, Exponential


class Formula(NamedTuple):
    """MIN(R * T * F^N, M), with R evenly between 1 and a spread.

    Attributes:
        timeout: T, seconds.
        factor: F.
        spread: the most that R can be; with 1 it is the same each time.
        maximum: M, seconds.
    """

    timeout: float = 1.0
    factor: float = 2.0
    spread: float = 1.0
    maximum: float = inf

    @property
    def schedule(self) -> Schedule:
        """The schedule of this formula."""
        waits: Schedule = Exponential(self.timeout, self.factor)
        if self.spread > 1:
            waits = waits.jittered(self.spread)
        return waits if self.maximum == inf else waits & Constant(self.maximum)

    def tried(self, k: int) -> float:
        """The time of the k-th further try, where R is 1: T * (F^k - 1) / (F - 1).

        From the wait on that reaches M, each is M.

        >>> [Formula(maximum=8).tried(k) for k in range(7)]
        [0.0, 1.0, 3.0, 7.0, 15.0, 23.0, 31.0]
        """
        below = min(k, self.growing)
        if self.factor == 1:
            grown = self.timeout * below
        else:
            grown = self.timeout * (self.factor**below - 1) / (self.factor - 1)
        return grown if k == below else grown + self.maximum * (k - below)

    @property
    def growing(self) -> float:
        """The number of waits that are shorter than M, where R is 1."""
        if self.maximum <= self.timeout:
            return 0
        if self.maximum == inf or self.factor == 1:
            return inf
        return ceil(log(self.maximum / self.timeout) / log(self.factor))

    def noticed(self, outage: float) -> float:
        """The time at which the end of an outage is noticed, where R is 1: the first try after it.

        >>> Formula().noticed(30.0)
        31.0
        """
        k, growing = 0, self.growing
        if growing != inf and self.tried(int(growing)) < outage:
            k = int(growing + (outage - self.tried(int(growing))) / self.maximum)
        while self.tried(k) < outage:
            k += 1
        return self.tried(k)

    def bound(self, outage: float) -> float:
        """The latest time at which any client notices, whatever R is.

        The outage ends during a wait. That wait began before the end, after k waits, which took at
        least T * (F^k - 1) / (F - 1) seconds; and it lasts at most R * T * F^k, and at most M.

        >>> Formula().bound(30.0), Formula(spread=2.0).bound(30.0), Formula(maximum=8).bound(30.0)
        (61.0, 92.0, 38.0)
        """
        steep = 1 + self.spread * (self.factor - 1)
        return min(steep * outage + self.spread * self.timeout, outage + self.maximum)
