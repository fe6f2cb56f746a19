"""Requests that sleep in ticks until they are older than the delay, without a look at each."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from math import ceil, inf
from typing import Generic, TypeVar

T = TypeVar("T")

NOBODY = -1
ROUNDING = 1e-9  # seconds; what is due at a time is not missed for the last digit of it


class Sleeper(Generic[T]):
    """A request that sleeps.

    Attributes:
        item: the request.
        number: how many were admitted before it.
        arrived: when it was admitted.
        anchor: when its ticks began: at its arrival, or when it overslept.
        ended: whether it has ended.
    """

    __slots__ = ("anchor", "arrived", "ended", "item", "number")

    def __init__(self, item: T, number: int, arrived: float) -> None:
        self.item = item
        self.number = number
        self.arrived = self.anchor = arrived
        self.ended = False


class Sleepers(Generic[T]):
    """Requests that sleep, compare their age with a delay at every tick, and end when it is less.

    The delay depends on how many requests there are at this moment, and is the same for all. So
    only the oldest can be older than it, and only those are looked at. The result is the same, to
    the tick, as if each request were looked at in each tick.

    >>> sleepers = Sleepers[str](lambda places: 0.1 * places, tick=0.05)
    >>> sleepers.admit("first", 0.0)
    >>> sleepers.admit("second", 0.01)
    >>> sleepers.next()
    0.2
    >>> sleepers.ended(0.2), len(sleepers), sleepers.next()
    (['first'], 1, 0.21000000000000002)

    Args:
        delay: a function from the number of requests to seconds; it never falls.
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
        """Let a request sleep. Call `ended` first, for those that are due."""
        self._admit(Sleeper(item, self._admitted, now))

    def _admit(self, sleeper: Sleeper[T]) -> None:
        heappush(self._waiting, (sleeper.arrived, sleeper.number, sleeper))
        self._admitted += 1
        self._moved(1)

    def next(self) -> float:
        """The earliest time at which one can end; infinity, if none sleeps."""
        first = self._due[0][0] if self._due else inf
        return min(first, self._waiting[0][0] + self.delay) if self._waiting else first

    def ended(self, now: float) -> list[T]:
        """Remove the requests that have ended by now, and return them in order.

        Each that leaves shortens the delay for the rest.
        """
        done: list[T] = []
        while True:
            self._promote(now)
            if not self._due or self._due[0][0] > now:
                return done
            when, number, which, sleeper = heappop(self._due)
            if sleeper.ended:
                continue
            if self._age(sleeper, which) < self.delay:  # others have come in the meantime
                heappush(self._waiting, (sleeper.arrived, number, sleeper))
                continue
            done.append(self._end(sleeper, when))

    def _end(self, sleeper: Sleeper[T], when: float) -> T:
        sleeper.ended = True
        self._last = (when, sleeper.number)
        self._moved(-1)
        return sleeper.item

    def overslept(self, since: float, now: float) -> None:
        """Wake all that should have woken while the server was stopped; their ticks begin anew."""
        entries = [entry[-1] for entry in self._waiting] + [entry[-1] for entry in self._due]
        everyone = [sleeper for sleeper in entries if not sleeper.ended]
        for sleeper in everyone:
            passed = max(0, ceil((since - sleeper.anchor) / self._tick - ROUNDING))
            if sleeper.anchor + max(passed, 1) * self._tick <= now:
                sleeper.anchor = now
        self._waiting = [(sleeper.arrived, sleeper.number, sleeper) for sleeper in everyone]
        heapify(self._waiting)
        self._due = []
        self._last = (now, NOBODY)

    def _promote(self, now: float) -> None:
        """Find the next tick of each that is older than the delay."""
        while self._waiting and self._waiting[0][0] + self.delay <= now + ROUNDING:
            _, number, sleeper = heappop(self._waiting)
            which = self._first(sleeper)
            heappush(self._due, (self._when(sleeper, which), number, which, sleeper))

    def _first(self, sleeper: Sleeper[T]) -> int:
        """The first tick to come at which it is old enough."""
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
        """Its age at a tick, computed so that 2 ticks of 50 ms are exactly 100 ms."""
        return (sleeper.anchor - sleeper.arrived) + which * self._tick

    def _moved(self, places: int) -> None:
        self._places += places
        self.delay = self._delay(self._places)
