"""`Sharing`: a resource whose users all progress at equal speed (processor sharing)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from heapq import heappop, heappush
from typing import Generic, TypeVar

from ..event_queue import Events

T = TypeVar("T", bound=Hashable)


class Sharing(Generic[T]):
    """A resource that its users share evenly, such as a processor or a disk.

    >>> from ixbackoff.fleet import Events
    >>> events = Events(seed=1)
    >>> disk = Sharing(events, speed=lambda users: 10 / users, done=print)
    >>> disk.begin("a file of 5 MB", 5.0)
    >>> disk.begin("a file of 2 MB", 2.0)
    >>> events.run(until=0.5)
    a file of 2 MB
    >>> len(disk), round(disk.total(), 6)
    (1, 3.0)

    Args:
        events: the clock and the events of the simulation.
        speed: a function from the number of users to the work per second of each; 0 stops them.
            Call `changed` when the speed changes for another reason.
        done: called with each user that has completed its work and left.

    The resource counts the work that a user present from the beginning would have received. A user
    that arrives at a count of 3 with 2 units of work is done at a count of 5, whoever arrives or
    leaves meanwhile. So an arrival adds one entry to a heap, and changes no other entry.
    """

    def __init__(
        self, events: Events, speed: Callable[[int], float], done: Callable[[T], None]
    ) -> None:
        self._events = events
        self._speed = speed
        self._done = done
        self._arrived: dict[T, tuple[float, int]] = {}  # the count, and the number of the user
        self._ends: list[tuple[float, int, T]] = []  # a heap; some of the users may have left
        self._rate = 0.0  # work per second
        self._work = 0.0  # the count
        self._since = events.now  # the time of the count
        self._number = 0  # of the newest user
        self._plan = 0  # the number of the newest planned end; earlier ends are ignored

    def __len__(self) -> int:
        return len(self._arrived)

    def __iter__(self) -> Iterator[T]:
        return iter(self._arrived)

    def begin(self, user: T, work: float) -> None:
        """Add a user with this much work."""
        self._catch_up()
        self._number += 1
        self._arrived[user] = (self._work, self._number)
        heappush(self._ends, (self._work + work, self._number, user))
        self.changed()

    def leave(self, user: T) -> None:
        """Remove a user before its work is done; do nothing for an unknown user."""
        self._catch_up()
        if self._arrived.pop(user, None) is not None:
            self.changed()

    def clear(self) -> list[T]:
        """Remove and return all users."""
        users = [*self._arrived]
        self._catch_up()
        self._arrived.clear()
        self.changed()
        return users

    def total(self) -> float:
        """Return the work done so far for the current users."""
        self._catch_up()
        arrived = sum([count for count, _ in self._arrived.values()])
        return self._work * len(self._arrived) - arrived

    def changed(self) -> None:
        """Plan the next end with the current speed."""
        self._catch_up()
        self._plan += 1
        ends = self._ends
        while ends and not self._is_current(ends[0]):
            heappop(ends)
        if ends:
            self._rate = self._speed(len(self._arrived))
            left = max(ends[0][0] - self._work, 0.0)
            if self._rate:
                self._events.after(left / self._rate, self._end, self._plan)

    def _is_current(self, end: tuple[float, int, T]) -> bool:
        """Return false if the user of `end` has left since, even if it has arrived again."""
        _, number, user = end
        arrived = self._arrived.get(user)
        return arrived is not None and arrived[1] == number

    def _end(self, plan: int) -> None:
        if plan == self._plan:
            self._catch_up()
            _, _, user = heappop(self._ends)
            del self._arrived[user]
            self.changed()
            self._done(user)

    def _catch_up(self) -> None:
        now = self._events.now
        if self._arrived:
            self._work += (now - self._since) * self._rate
        self._since = now
