"""A server that gets slower under load, behind the accept queue of its kernel."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from math import ceil, inf, isfinite

from .events import Events
from .services import Request, Service, Serving
from .sleepers import Sleepers
from .wrapping import WrappingSleepers

STEP = 15
"""Requests beyond the limit that make the delay `factor` times as long."""
MOST_NANOSECONDS = 2.0**63
"""The first number that a signed integer of 64 bits cannot hold; it becomes the least of them."""


@dataclass(frozen=True)
class SlowingServer(Service):
    """The server of "Exponential Backoff or how not to crash a server".

    A request sleeps in ticks until it is as old as the delay is at that moment. A request whose
    client has gone keeps its place until then. While the server is stopped, connections wait in the
    accept queue, which holds one more than its length. When the server goes on, all of them are
    served, even if their clients have given up. A connection that finds the queue full knocks
    again and again, until it is admitted or its request is given up. With `lingering` it goes on
    then, as in the HTTP client of Go, which gives the connection to the request that has waited
    longest.

    >>> server = SlowingServer()
    >>> [round(server.delay(concurrency), 6) for concurrency in (30, 45, 1040)]
    [0.1, 0.105, 2.671444]

    Attributes:
        limit: requests at once up to which the delay is `base`.
        base: the least delay, seconds.
        factor: each 15 requests more multiply the delay by this.
        tick: seconds that a request sleeps before it compares its age with the delay again.
        backlog: the length of the accept queue that the server asks for, with listen(2).
        knocks: seconds between two knocks; a kernel sends its first SYN again after a second.
        lingering: seconds for which a dial goes on, whether its request waits or not; 30 in Go.
            With 0 it ends with its request, as in a client that closes its socket.
        int64: whether a delay is a signed number of nanoseconds in 64 bits, as in Go: a longer one
            than 292 years becomes a negative one, so that a request ends at its next tick.

    Raises:
        ValueError: a number is out of its bounds.
    """

    limit: int = 30
    base: float = 0.1
    factor: float = 1.05
    tick: float = 0.05
    backlog: int = 4096
    knocks: float = 1.02
    lingering: float = 0.0
    int64: bool = False

    def __post_init__(self) -> None:
        for name in "base", "tick", "knocks":
            seconds: float = getattr(self, name)
            if not (isfinite(seconds) and seconds > 0):
                raise ValueError(f"{name}={seconds!r}: give seconds, above 0.")
        if not (isfinite(self.factor) and self.factor >= 1):
            raise ValueError(
                f"factor={self.factor!r}: more requests take no less time, so 1 or more."
            )
        if not (isfinite(self.lingering) and self.lingering >= 0):
            raise ValueError(f"lingering={self.lingering!r}: give seconds, 0 or more.")
        for name in "limit", "backlog":
            number: int = getattr(self, name)
            if number < 0:
                raise ValueError(f"{name}={number!r}: give a number, 0 or more.")

    def delay(self, concurrency: int) -> float:
        """The seconds that a request takes, with so many at once.

        >>> SlowingServer().delay(2231)
        128.5809065891...
        """
        if concurrency <= self.limit:
            return self.base
        try:
            delay = self.base * math.pow(self.factor, (concurrency - self.limit) / STEP)
        except OverflowError:
            delay = inf
        if self.int64 and delay * 1e9 >= MOST_NANOSECONDS:
            return -MOST_NANOSECONDS / 1e9
        return delay

    def begin(self, events: Events) -> Serving:
        return _SlowingServer(self, events)


class _SlowingServer(Serving):
    def __init__(self, model: SlowingServer, events: Events) -> None:
        self.model = model
        self.events = events
        self.sleepers: Sleepers[Request] = (
            WrappingSleepers(model.delay, model.tick, events.random)
            if model.int64
            else Sleepers(model.delay, model.tick)
        )
        self.stopped_at: float | None = None
        self.queue: deque[Request] = deque()
        self.outside: deque[Request] = deque()  # those whose dials knock, in order
        self.waiting: deque[Request] = deque()  # those of them that are not over, and some that are
        self.alarm = inf  # when to look next

    def ask(self, request: Request) -> None:
        if self.stopped_at is None:
            self.admit(request)
        elif len(self.queue) <= self.model.backlog:
            self.queue.append(request)
        else:
            self.outside.append(request)
            self.forget(self.events.now)

    def forget(self, now: float) -> None:
        """Forget those whose dials have ended, so that a long outage keeps few."""
        while self.outside and not self.dials(self.outside[0], now):
            self.outside.popleft()

    def dials(self, request: Request, now: float) -> bool:
        return not request.over or now - request.begun < self.model.lingering

    def admit(self, request: Request) -> None:
        self.sleepers.admit(request, self.events.now)
        self.look_later()

    def stop(self) -> None:
        if self.stopped_at is None:
            self.stopped_at = self.events.now

    def resume(self) -> None:
        since, now = self.stopped_at, self.events.now
        if since is None:
            return
        self.stopped_at = None
        self.sleepers.overslept(since, now)
        self.end()
        while self.queue:
            self.sleepers.admit(self.queue.popleft(), now)
        for request in self.outside:
            if self.dials(request, now):
                knocked = ceil((now - request.begun) / self.model.knocks)
                when = max(now, request.begun + knocked * self.model.knocks)
                self.events.at(when, self.knock, request)
        self.waiting.extend(request for request in self.outside if not request.over)
        self.outside.clear()
        self.look_later()

    def knock(self, dialled: Request) -> None:
        """Admit the request that has waited longest; without lingering it has its own dial only."""
        if not self.model.lingering:
            if not dialled.over:
                self.ask(dialled)
            return
        while self.waiting:
            request = self.waiting.popleft()
            if not request.over:
                self.ask(request)
                return

    def look_later(self) -> None:
        when = max(self.sleepers.next(), self.events.now)  # an overflowed delay is before all time
        if when < self.alarm:
            self.alarm = when
            self.events.at(when, self.look)

    def look(self, _: object) -> None:
        if self.stopped_at is None and self.events.now == self.alarm:
            self.end()
            self.look_later()

    def end(self) -> None:
        self.alarm = inf
        for request in self.sleepers.ended(self.events.now):
            request.answer()

    def load(self) -> float:
        return len(self.sleepers)
