"""Requests that sleep in ticks until they are older than the delay: who ends next, and when."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from math import ceil, inf
from typing import Generic, TypeVar

T = TypeVar("T")

NOBODY = -1
ROUNDING = 1e-9  # seconds; what is due at a time is not missed for the last digit of it


class Sleeper(Generic[T]):
    """A request in its place.

    Attributes:
        item: whose it is.
        number: how many were admitted before it.
        arrived: when it was admitted.
        anchor: from when its ticks are counted: since it arrived, or since it overslept.
    """

    __slots__ = ("anchor", "arrived", "item", "number")

    def __init__(self, item: T, number: int, arrived: float) -> None:
        self.item = item
        self.number = number
        self.arrived = self.anchor = arrived


class Sleepers(Generic[T]):
    """Requests that sleep, compare their age with a delay at every tick, and end when it is less.

    The delay is that of the number of requests in their places at this moment. Nobody has to look
    at each request at each tick: only the oldest can be older than the delay, since it is the same
    for all of them. What comes out is the same, to the tick.

    >>> sleepers = Sleepers[str](lambda places: 0.1 * places, tick=0.05)
    >>> sleepers.admit("first", 0.0)
    >>> sleepers.admit("second", 0.01)
    >>> sleepers.next()
    0.2
    >>> sleepers.ended(0.2), len(sleepers), sleepers.next()
    (['first'], 1, 0.21000000000000002)

    Args:
        delay: from the number of requests to seconds; more requests, no shorter delay.
        tick: seconds between two looks.
    """

    __slots__ = ("_admitted", "_delay", "_due", "_last", "_places", "_tick", "_waiting", "delay")

    def __init__(self, delay: Callable[[int], float], tick: float) -> None:
        self._delay = delay
        self._tick = tick
        self._admitted = 0
        self._places = 0
        self._waiting: list[tuple[float, int, Sleeper[T]]] = []  # younger than the delay, by age
        self._due: list[tuple[float, int, int, Sleeper[T]]] = []  # older: (tick, number, which, ..)
        self._last = (-inf, NOBODY)  # the last tick at which one ended: (when, number)
        self.delay = delay(0)

    def __len__(self) -> int:
        return self._places

    def admit(self, item: T, now: float) -> None:
        """It takes a place; what was due before has to be `ended` first."""
        heappush(self._waiting, (now, self._admitted, Sleeper(item, self._admitted, now)))
        self._admitted += 1
        self._moved(1)

    def next(self) -> float:
        """Until when nothing can end, unless another ends before; infinity, if nothing sleeps."""
        first = self._due[0][0] if self._due else inf
        return min(first, self._waiting[0][0] + self.delay) if self._waiting else first

    def ended(self, now: float) -> list[T]:
        """What ends until now, in order; each leaves its place, and the next is compared."""
        done: list[T] = []
        while True:
            self._promote(now)
            if not self._due or self._due[0][0] > now:
                return done
            when, number, which, sleeper = heappop(self._due)
            if self._age(sleeper, which) < self.delay:  # others have come in the meantime
                heappush(self._waiting, (sleeper.arrived, number, sleeper))
                continue
            self._last = (when, number)
            self._moved(-1)
            done.append(sleeper.item)

    def overslept(self, since: float, now: float) -> None:
        """Nobody could look since then: the ticks in between are all now, and go on from here."""
        everyone = [entry[-1] for entry in self._waiting] + [entry[-1] for entry in self._due]
        for sleeper in everyone:
            passed = max(0, ceil((since - sleeper.anchor) / self._tick - ROUNDING))
            if sleeper.anchor + max(passed, 1) * self._tick <= now:
                sleeper.anchor = now
        self._waiting = [(sleeper.arrived, sleeper.number, sleeper) for sleeper in everyone]
        heapify(self._waiting)
        self._due = []
        self._last = (now, NOBODY)

    def _promote(self, now: float) -> None:
        """Give a tick to those that are older than the delay."""
        while self._waiting and self._waiting[0][0] + self.delay <= now + ROUNDING:
            _, number, sleeper = heappop(self._waiting)
            which = self._first(sleeper)
            heappush(self._due, (self._when(sleeper, which), number, which, sleeper))

    def _first(self, sleeper: Sleeper[T]) -> int:
        """Its first tick at which it is old enough, of those that have not passed."""
        tick, missing = self._tick, self.delay - (sleeper.anchor - sleeper.arrived)
        passed = self._last[0] - sleeper.anchor
        which = max(0, ceil(missing / tick) - 1, ceil(passed / tick) - 1 if passed > 0 else 0)
        while (
            self._age(sleeper, which) < self.delay
            or (self._when(sleeper, which), sleeper.number) <= self._last
        ):
            which += 1
        return which

    def _when(self, sleeper: Sleeper[T], which: int) -> float:
        return sleeper.anchor + which * self._tick

    def _age(self, sleeper: Sleeper[T], which: int) -> float:
        """At a tick: of the numbers themselves, so that 2 ticks of 50 ms are 100 ms."""
        return (sleeper.anchor - sleeper.arrived) + which * self._tick

    def _moved(self, places: int) -> None:
        self._places += places
        self.delay = self._delay(self._places)
