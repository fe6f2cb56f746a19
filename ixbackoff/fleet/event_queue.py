"""`Events`: the clock of a simulation and its queue of events, in the order of virtual time."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from math import ceil, floor, inf
from operator import itemgetter
from random import Random
from typing import Any, TypeAlias

from .._words.commands import Misuse

Action: TypeAlias = Callable[[Any], object]

# One heap for all events is several times slower if there are many: each push compares an event
# with log n others. So the events of each later slice of time are in an unsorted list, which `run`
# sorts once, when virtual time reaches the slice. Only events of the current slice are in a heap.
SLICES = 16.0
"""The slices in a second: a power of two, so `when * SLICES` is exact, and a float, for speed."""
GAP = 64
"""The greatest number of empty slices that `run` passes singly before it jumps to an event."""
FAR = 1e300
"""Events at or after this time, in seconds, are in no slice."""
WHEN = itemgetter(0)
MOST = 1_000_000
"""If this many events happen at one time, the simulation presumably never ends."""


class Events:
    """A clock and its events, without threads and sleep: the same seed gives the same events.

    Events of the same time happen in the order in which they were planned.

    >>> events = Events(seed=1)
    >>> events.at(2.0, print, "then")
    >>> events.at(1.0, print, "first")
    >>> events.run(until=5.0)
    first
    then
    >>> events.now
    5.0

    Attributes:
        now: the seconds since the beginning.
        most: if this many events or more happen at one time, `run` can raise Misuse.
        random: the source of all random numbers.
        count: the number of events so far, once `run` has returned.
    """

    __slots__ = ("_later", "_near", "_next", "_slice", "count", "most", "now", "random")

    def __init__(self, seed: int) -> None:
        self.now = 0.0
        self.count = 0
        self.most = MOST
        self.random = Random(seed)  # noqa: S311
        self._next = count().__next__
        self._slice = 0  # the number of the current slice
        self._near: list[tuple[float, int, Action, Any]] = []  # a heap
        self._later: dict[int, list[tuple[float, Action, Any]]] = {}

    @property
    def empty(self) -> bool:
        """True if no event is left; can be wrong in an action, because `run` then holds events."""
        return not (self._near or self._later)

    def at(self, when: float, action: Action, argument: Any = None) -> None:
        """Plan a call of `action(argument)` at the time `when`.

        Raises:
            ValueError: `when` is past, or not a finite number.
        """
        try:
            due = self._later.get(floor(when * SLICES))
        except (ValueError, OverflowError):  # `when` is infinite, nan, or too far for a slice
            due = None
        if due is None:
            self._begin(when, action, argument)
        else:
            due.append((when, action, argument))

    def after(self, seconds: float, action: Action, argument: Any = None) -> None:
        """Plan a call of `action(argument)` after `seconds`.

        Raises:
            ValueError: `seconds` is negative, or not a finite number.
        """
        when = self.now + seconds  # from here on as in `at`, inlined
        try:
            due = self._later.get(floor(when * SLICES))
        except (ValueError, OverflowError):
            due = None
        if due is None:
            self._begin(when, action, argument)
        else:
            due.append((when, action, argument))

    def _begin(self, when: float, action: Action, argument: Any) -> None:
        """Plan the first event of a slice, or one in the current slice."""
        if not self.now <= when < inf:
            raise ValueError(
                f"at {when!r} s, but the clock is at {self.now!r} s: give a later time, not inf."
            )
        number = floor(when * SLICES) if when < FAR else -1
        if number <= self._slice:
            heappush(self._near, (when, self._next(), action, argument))
        else:
            self._later[number] = [(when, action, argument)]

    def clear(self) -> None:
        """Forget the events that are left."""
        self._near.clear()
        self._later.clear()

    def run(self, until: float) -> None:
        """Run all events before the time `until`, and set the clock to it.

        Raises:
            Misuse: time did not advance for `most` events or more.
        """
        near, later, end = self._near, self._later, until * SLICES
        self._run_near(until)
        while later and self._slice + 1 < end:
            self._slice += 1
            due = later.pop(self._slice, None)
            if due is None:
                if self._slice % GAP == 0:
                    self._slice = min(min(later), ceil(end)) - 1
                continue
            due.sort(key=WHEN)  # stable: events of the same time stay in order
            if self._slice + 1 > end:
                due = self._split(due, until)
            for when, action, argument in due:
                if near and near[0][0] < when:
                    self._run_near(when)
                self.now = when
                action(argument)
            self.count += len(due)
            if near:
                self._run_near(until)
        self.now = until

    def _run_near(self, until: float) -> None:
        near = self._near
        happened, check_at, before = 0, self.most, self.now
        while near and near[0][0] < until:
            self.now, _, action, argument = heappop(near)
            action(argument)
            happened += 1
            if happened == check_at:
                if self.now == before:
                    raise Misuse(
                        f"At {before:g} s {self.most} events happened, and time did not advance: "
                        "give waits or a service that take time, or a ladder that ends."
                    )
                check_at, before = happened + self.most, self.now
        self.count += happened

    def _split(
        self, due: list[tuple[float, Action, Any]], until: float
    ) -> list[tuple[float, Action, Any]]:
        """Return the events before `until`; move the others to the heap."""
        before = [event for event in due if event[0] < until]
        for order, event in enumerate(due[len(before) :], len(before) - len(due)):
            heappush(self._near, (event[0], order, *event[1:]))  # order < 0: first of equal times
        return before
