"""Requests that sleep in ticks, with a delay that an overflow can make negative."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeVar

from .sleepers import Sleeper, Sleepers

T = TypeVar("T")

SPARE = 1000
"""Sleepers that have ended which may be left in the list before they are removed."""


class WrappingSleepers(Sleepers[T]):
    """Sleepers of which any can end while the delay is negative: the one whose tick comes first.

    Each that leaves brings back the long delay of before, so for each that comes one leaves. The
    ticks of real requests drift apart, so that any of them may be the next; here it is drawn by
    lot, and leaves at once: among thousands of them a tick comes every few microseconds.

    >>> sleepers = WrappingSleepers[str](lambda n: -1.0 if n > 1 else 99.0, 0.05, Random(1))
    >>> sleepers.admit("first", 0.0)
    >>> sleepers.admit("second", 0.01)
    >>> sleepers.ended(0.01), len(sleepers)
    (['first'], 1)

    Args:
        delay: a function from the number of requests to seconds; it never falls but below 0.
        tick: seconds between two looks.
        chance: draws the one that ends.
    """

    __slots__ = ("_all", "_chance")

    def __init__(self, delay: Callable[[int], float], tick: float, chance: Random) -> None:
        super().__init__(delay, tick)
        self._chance = chance
        self._all: list[Sleeper[T]] = []

    def _admit(self, sleeper: Sleeper[T]) -> None:
        super()._admit(sleeper)
        self._all.append(sleeper)
        if len(self._all) > 2 * len(self) + SPARE:
            self._all = [one for one in self._all if not one.ended]

    def ended(self, now: float) -> list[T]:
        done: list[T] = []
        while self.delay < 0:
            place = self._chance.randrange(len(self._all))
            self._all[place], self._all[-1] = self._all[-1], self._all[place]
            sleeper = self._all.pop()
            if not sleeper.ended:
                done.append(self._end(sleeper, now))
        return done + super().ended(now)
