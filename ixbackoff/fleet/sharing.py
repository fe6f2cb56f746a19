"""Processor sharing: all jobs progress at equal speed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from heapq import heappop, heappush
from typing import Generic, TypeVar

from .events import Events

T = TypeVar("T", bound=Hashable)


class Sharing(Generic[T]):
    """A resource that its users share evenly, such as a processor or a disk.

    It counts the work that a user from the very beginning would have got by now. A user that comes
    at a count of 3 with work for 2 is done at 5, whoever comes and goes. So an event costs little.

    >>> events = Events(seed=1)
    >>> done = lambda name: print(name, "is done at", events.now)
    >>> shared = Sharing(events, speed=lambda many: 1 / many, done=done)
    >>> shared.begin("long", 2.0)
    >>> shared.begin("short", 1.0)
    >>> events.run(until=9)
    short is done at 2.0
    long is done at 3.0

    Args:
        events: the clock.
        speed: a function from the number of users to the work per second that each gets.
        done: called with each user whose work is done, when it has left.
    """

    __slots__ = (
        "_came",
        "_done",
        "_each",
        "_ends",
        "_events",
        "_gone",
        "_number",
        "_plan",
        "_since",
        "_speed",
    )

    def __init__(
        self, events: Events, speed: Callable[[int], float], done: Callable[[T], None]
    ) -> None:
        self._events = events
        self._speed = speed
        self._done = done
        self._came: dict[T, tuple[float, int]] = {}  # the count, and which user
        self._ends: list[tuple[float, int, T]] = []  # a heap; some may have left
        self._each = 0.0  # work per second
        self._gone = 0.0
        self._since = events.now
        self._number = 0  # of who comes next
        self._plan = 0  # its number: an event of an older one says nothing

    def __len__(self) -> int:
        return len(self._came)

    def __iter__(self) -> Iterator[T]:
        return iter(self._came)

    def begin(self, one: T, work: float) -> None:
        """Add a user with so much work."""
        self._catch_up()
        self._number += 1
        self._came[one] = (self._gone, self._number)
        heappush(self._ends, (self._gone + work, self._number, one))
        self.changed()

    def leave(self, one: T) -> None:
        """Remove a user, whose work is not done."""
        self._catch_up()
        if self._came.pop(one, None) is not None:
            self.changed()

    def clear(self) -> list[T]:
        """Remove all users, and return them in the order in which they came."""
        left = [*self._came]
        self._catch_up()
        self._came.clear()
        self.changed()
        return left

    def total(self) -> float:
        """The work that was done for the present users."""
        self._catch_up()
        return self._gone * len(self._came) - sum([came for came, _ in self._came.values()])

    def changed(self) -> None:
        """Take a change of speed into account."""
        self._catch_up()
        self._plan += 1
        ends = self._ends
        while ends and not self._there(ends[0]):
            heappop(ends)
        if ends:
            self._each = self._speed(len(self._came))
            left = max(ends[0][0] - self._gone, 0.0)
            self._events.after(left / self._each, self._end, self._plan)

    def _there(self, end: tuple[float, int, T]) -> bool:
        """True if this is the end of a present user, not of one who has left and come again."""
        _, number, one = end
        came = self._came.get(one)
        return came is not None and came[1] == number

    def _end(self, plan: int) -> None:
        if plan == self._plan:
            self._catch_up()
            _, _, one = heappop(self._ends)
            del self._came[one]
            self.changed()
            self._done(one)

    def _catch_up(self) -> None:
        now = self._events.now
        if self._came:
            self._gone += (now - self._since) * self._each
        self._since = now
