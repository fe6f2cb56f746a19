"""What happens next, and when: the events of a simulation, in the order of virtual time."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from math import inf
from operator import itemgetter
from random import Random
from typing import Any, TypeAlias

from .._words.commands import Misuse

Action: TypeAlias = Callable[[Any], object]

SLICES = 16
"""Of a second. A power of two, so that `when * SLICES` is exact."""
FAR = 1e300
"""Seconds; what is later is in no slice."""
WHEN = itemgetter(0)
MOST = 1_000_000
"""So many events at the same time are those of something that never ends."""


class Events:
    """A clock, and what is to happen on it. No thread, no sleep: the same seed, the same events.

    What is due at the same time happens in the order in which it was asked for.

    >>> events = Events(seed=1)
    >>> events.at(2.0, print, "then")
    >>> events.at(1.0, print, "first")
    >>> events.run(until=5.0)
    first
    then
    >>> events.now
    5.0

    What is due in a later slice of time lies in a list, which is sorted when its time has come;
    only what is due in the present one is kept in order. With many clients that is some times as
    fast as one heap.

    Attributes:
        now: seconds since the beginning.
        most: how many events there can be at the same time.
        random: where all chance comes from.
        count: how many have happened.
    """

    __slots__ = ("_later", "_near", "_next", "_slice", "_slices", "count", "most", "now", "random")

    def __init__(self, seed: int) -> None:
        self.now = 0.0
        self.count = 0
        self.most = MOST
        self.random = Random(seed)  # noqa: S311
        self._next = count().__next__
        self._slice = 0  # the present one
        self._near: list[tuple[float, int, Action, Any]] = []  # a heap
        self._later: dict[int, list[tuple[float, Action, Any]]] = {}
        self._slices: list[int] = []  # a heap of the keys of `_later`

    @property
    def empty(self) -> bool:
        """Whether nothing will happen any more."""
        return not (self._near or self._slices)

    def at(self, when: float, action: Action, argument: Any = None) -> None:
        """Call `action(argument)` at the time `when`.

        Raises:
            ValueError: it is over, or it is no number.
        """
        try:
            due = self._later.get(int(when * SLICES))
        except (ValueError, OverflowError):
            due = None
        if due is None:
            self._begin(when, action, argument)
        else:
            due.append((when, action, argument))

    def after(self, seconds: float, action: Action, argument: Any = None) -> None:
        """Call `action(argument)` in so many seconds.

        Raises:
            ValueError: they are negative, or no finite number.
        """
        when = self.now + seconds
        try:
            due = self._later.get(int(when * SLICES))
        except (ValueError, OverflowError):
            due = None
        if due is None:
            self._begin(when, action, argument)
        else:
            due.append((when, action, argument))

    def _begin(self, when: float, action: Action, argument: Any) -> None:
        """Keep the first event of a slice, or one in the present slice."""
        if not self.now <= when < inf:
            raise ValueError(f"at {when!r} s, and it is {self.now!r} s: give a time to come.")
        place = int(when * SLICES) if when < FAR else -1
        if place <= self._slice:
            heappush(self._near, (when, self._next(), action, argument))
        else:
            self._later[place] = [(when, action, argument)]
            heappush(self._slices, place)

    def run(self, until: float) -> None:
        """Let happen what is due before the time `until`, which is then `now`.

        Raises:
            Misuse: time does not go by.
        """
        near, slices = self._near, self._slices
        self._run_near(until)
        while slices and slices[0] < until * SLICES:
            self._slice = heappop(slices)
            due = self._later.pop(self._slice)
            due.sort(key=WHEN)  # stable: what came first stays first
            if self._slice + 1 > until * SLICES:
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
        happened, looked, before = 0, self.most, self.now
        while near and near[0][0] < until:
            self.now, _, action, argument = heappop(near)
            action(argument)
            happened += 1
            if happened == looked:
                if self.now == before:
                    raise Misuse(
                        f"At {before:g} s {self.most} events went by, and no time: give waits, or "
                        "a service, that take some, or a ladder that has an end."
                    )
                looked, before = happened + self.most, self.now
        self.count += happened

    def _split(
        self, due: list[tuple[float, Action, Any]], until: float
    ) -> list[tuple[float, Action, Any]]:
        """What is due before `until`; the rest of the slice comes before all that is asked for."""
        before = [event for event in due if event[0] < until]
        for place, event in enumerate(due[len(before) :], len(before) - len(due)):
            heappush(self._near, (event[0], place, *event[1:]))
        return before
