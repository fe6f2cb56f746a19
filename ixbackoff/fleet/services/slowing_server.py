"""`SlowingServer`: a server that gets slower under load, behind the accept queue of its kernel."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import ceil, inf, isfinite
from random import Random
from typing import Generic, TypeVar

from ..._words.checks import above_zero
from ..event_queue import Events
from .service import Request, Service, Serving, check_whole

T = TypeVar("T")

STEP = 15  # further requests that multiply the delay by `factor`
OVERFLOWS = 2.0**63  # nanoseconds: the first number that a signed integer of 64 bits cannot hold
NOBODY = -1  # less than the number of any request
ROUNDING = 1e-9  # seconds: tolerates the last digit of a sum
SPARE = 1000  # a list may hold this many more ended sleepers than current ones


@dataclass(frozen=True)
class SlowingServer(Service):
    """The server of "Exponential Backoff or how not to crash a server".

    A request sleeps in ticks until it is as old as the delay, which grows with the number of
    requests; it sleeps even if its client abandons it. During an outage, connections wait in the
    accept queue, which holds one more than its length. When the server resumes, it serves all of
    them, abandoned ones included. A connection that finds the queue full dials again and again,
    until it is admitted or its request is abandoned. With `lingering` it may outlast its request,
    as in Go's HTTP client, and once admitted it carries the request that has waited longest.

    >>> server = SlowingServer()
    >>> [round(server.delay(concurrency), 6) for concurrency in (30, 45, 1040)]
    [0.1, 0.105, 2.671444]

    Attributes:
        limit: the number of concurrent requests up to which the delay is `base`.
        base: the shortest delay, seconds.
        factor: the factor by which each 15 further requests multiply the delay.
        tick: the seconds that a request sleeps before it compares its age with the delay again.
        backlog: the length of the accept queue that the server asks for, with listen(2).
        knocks: the seconds between two SYNs of a dial; a kernel repeats its first SYN after 1 s.
        lingering: the seconds from the beginning of a request for which its dial continues even if
            the request is abandoned; 30 in Go. With 0 a dial ends with its request, as in a client
            that closes its socket.
        int64: whether a delay is a signed number of nanoseconds in 64 bits, as in Go: a delay
            longer than 292 years overflows and is negative, so that any request ends at its next
            tick.

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
            above_zero(name, getattr(self, name))
        if not (isfinite(self.factor) and self.factor >= 1):
            raise ValueError(
                f"factor={self.factor!r}: give 1 or more; more requests do not speed a server up."
            )
        if not (isfinite(self.lingering) and self.lingering >= 0):
            raise ValueError(f"lingering={self.lingering!r}: give seconds, 0 or more.")
        for name in "limit", "backlog":
            number: int = getattr(self, name)
            if number < 0:
                raise ValueError(f"{name}={number!r}: give a number, 0 or more.")

    def delay(self, concurrency: int) -> float:
        """Return the delay while there are `concurrency` requests, in seconds.

        >>> SlowingServer().delay(2231)
        128.5809065891...
        """
        if concurrency <= self.limit:
            return self.base
        try:
            delay = self.base * math.pow(self.factor, (concurrency - self.limit) / STEP)
        except OverflowError:
            delay = inf
        if self.int64 and delay * 1e9 >= OVERFLOWS:
            return -OVERFLOWS / 1e9
        return delay

    def begin(self, events: Events) -> Serving:
        return _SlowingServer(self, events)


class _SlowingServer(Serving):
    def __init__(self, model: SlowingServer, events: Events) -> None:
        self.model = model
        self.events = events
        self.sleepers: Sleepers[Request] = (
            OverflowingSleepers(model.delay, model.tick, events.random)
            if model.int64
            else Sleepers(model.delay, model.tick)
        )
        self.stopped_at: float | None = None
        self.queue: deque[Request] = deque()
        self.outside: deque[Request] = deque()  # the requests that dial in vain, oldest first
        self.waiting: deque[Request] = deque()  # after an outage: the requests not yet admitted
        self.alarm = inf  # the time of the next check of the sleepers

    def ask(self, request: Request) -> None:
        now = self.events.now
        if self.stopped_at is None:
            self.sleepers.admit(request, now)
            self.check_later()
        elif len(self.queue) <= self.model.backlog:
            self.queue.append(request)
        else:
            self.outside.append(request)
            while self.outside and not self.dials(self.outside[0], now):  # ended dials can be many
                self.outside.popleft()

    def dials(self, request: Request, now: float) -> bool:
        return not request.over or now - request.begun < self.model.lingering

    def set_speed(self, speed: float) -> None:
        check_whole(self, speed)
        if speed and self.stopped_at is not None:
            since, self.stopped_at = self.stopped_at, None
            self.resume(since, self.events.now)
        elif not speed and self.stopped_at is None:
            self.stopped_at = self.events.now

    def resume(self, since: float, now: float) -> None:
        self.sleepers.overslept(since, now)
        self.answer_ended()
        while self.queue:
            self.sleepers.admit(self.queue.popleft(), now)
        for request in self.outside:
            if self.dials(request, now):
                knocked = ceil((now - request.begun) / self.model.knocks)
                when = max(now, request.begun + knocked * self.model.knocks)
                self.events.at(when, self.knock, request)
        self.waiting.extend(request for request in self.outside if not request.over)
        self.outside.clear()
        self.check_later()

    def knock(self, dialled: Request) -> None:
        """Admit `dialled`, or with `lingering` the request that has waited longest."""
        if not self.model.lingering:
            if not dialled.over:
                self.ask(dialled)
            return
        while self.waiting:
            request = self.waiting.popleft()
            if not request.over:
                self.ask(request)
                return

    def check_later(self) -> None:
        when = max(self.sleepers.next(), self.events.now)  # an overflowed delay ends in the past
        if when < self.alarm:
            self.alarm = when
            self.events.at(when, self.check)

    def check(self, _: object) -> None:
        if self.stopped_at is None and self.events.now == self.alarm:
            self.answer_ended()
            self.check_later()

    def answer_ended(self) -> None:
        self.alarm = inf
        for request in self.sleepers.ended(self.events.now):
            request.answer()

    def load(self) -> float:
        return len(self.sleepers)


@dataclass(slots=True, eq=False)
class Sleeper(Generic[T]):
    item: T
    number: int  # of the requests admitted before it
    arrived: float
    anchor: float  # its arrival or the end of an outage: its ticks are counted from then on
    ended: bool = False


class Sleepers(Generic[T]):
    """Requests that sleep: each ends at its first tick at which it is as old as the delay.

    The delay depends on the number of requests, and is the same for all. So the oldest requests
    reach it first, and only they are checked. Each request ends at the same tick as if it had been
    checked at all of its ticks. The delay must not decrease with the number of requests.
    """

    __slots__ = ("_admitted", "_delay", "_due", "_last", "_places", "_tick", "_waiting", "delay")

    def __init__(self, delay: Callable[[int], float], tick: float) -> None:
        self._delay = delay
        self._tick = tick
        self._admitted = 0
        self._places = 0
        # Two heaps: requests younger than the delay, by age; older requests, by their next tick.
        self._waiting: list[tuple[float, int, Sleeper[T]]] = []
        self._due: list[tuple[float, int, int, Sleeper[T]]] = []  # time, number, count of ticks
        self._last = (-inf, NOBODY)  # the tick and the number of the last request that ended
        self.delay = delay(0)

    def __len__(self) -> int:
        return self._places

    def admit(self, item: T, now: float) -> Sleeper[T]:
        """Add a request. Call `ended` first: a new request lengthens the delay of the others."""
        sleeper = Sleeper(item, self._admitted, now, now)
        heappush(self._waiting, (now, self._admitted, sleeper))
        self._admitted += 1
        self._moved(1)
        return sleeper

    def next(self) -> float:
        """Return the earliest time at which a request can end; infinity if there is none."""
        first = self._due[0][0] if self._due else inf
        return min(first, self._waiting[0][0] + self.delay) if self._waiting else first

    def ended(self, now: float) -> list[T]:
        """Remove the requests that have ended by now, and return them in order.

        Each removal shortens the delay of the others.
        """
        done: list[T] = []
        while True:
            self._promote(now)
            if not self._due or self._due[0][0] > now:
                return done
            when, number, which, sleeper = heappop(self._due)
            if sleeper.ended:
                continue
            if self._age(sleeper, which) < self.delay:  # the delay has grown meanwhile
                heappush(self._waiting, (sleeper.arrived, number, sleeper))
                continue
            done.append(self._end(sleeper, when))

    def _end(self, sleeper: Sleeper[T], when: float) -> T:
        sleeper.ended = True
        self._last = (when, sleeper.number)
        self._moved(-1)
        return sleeper.item

    def overslept(self, since: float, now: float) -> None:
        """Restart the ticks of the requests that had a tick in the outage from `since` to `now`."""
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
        """Move to `_due` each request that is as old as the delay, with its next tick."""
        while self._waiting and self._waiting[0][0] + self.delay <= now + ROUNDING:
            _, number, sleeper = heappop(self._waiting)
            which = self._first(sleeper)
            heappush(self._due, (self._when(sleeper, which), number, which, sleeper))

    def _first(self, sleeper: Sleeper[T]) -> int:
        """Return the number of the next tick at which `sleeper` is as old as the delay."""
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
        """Return the age at the tick `which`; a sum of ticks would accumulate rounding errors."""
        return (sleeper.anchor - sleeper.arrived) + which * self._tick

    def _moved(self, places: int) -> None:
        self._places += places
        self.delay = self._delay(self._places)


class OverflowingSleepers(Sleepers[T]):
    """Sleepers whose delay can overflow: while it is negative, a request ends at its next tick.

    After one request has ended, the delay is long again, until another one arrives. The ticks of
    real requests drift apart, so that any request may have the next tick. Here a random request
    ends, and does so immediately: with thousands of requests, ticks are microseconds apart.
    """

    __slots__ = ("_all", "_chance")

    def __init__(self, delay: Callable[[int], float], tick: float, chance: Random) -> None:
        super().__init__(delay, tick)
        self._chance = chance
        self._all: list[Sleeper[T]] = []

    def admit(self, item: T, now: float) -> Sleeper[T]:
        admitted = super().admit(item, now)
        self._all.append(admitted)
        if len(self._all) > 2 * len(self) + SPARE:
            self._all = [sleeper for sleeper in self._all if not sleeper.ended]
        return admitted

    def ended(self, now: float) -> list[T]:
        done: list[T] = []
        while self.delay < 0:
            place = self._chance.randrange(len(self._all))
            self._all[place], self._all[-1] = self._all[-1], self._all[place]
            sleeper = self._all.pop()
            if not sleeper.ended:
                done.append(self._end(sleeper, now))
        return done + super().ended(now)
