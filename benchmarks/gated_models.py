"""Services with a quota, an overload or an outage, and fleets that ask them through gates."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from math import ceil
from typing import Any, NamedTuple, TypeVar

from typing_extensions import override

from ixbackoff import (
    N3,
    N5,
    Attempt,
    CircuitBreaker,
    Command,
    Crowded,
    Delay,
    Exponential,
    Gate,
    Now,
    RetryBudget,
    ServerError,
    Throttled,
    at,
    do,
)
from ixbackoff.fleet import Events, Outage, Outcome, Request, Service, Serving, simulate

T = TypeVar("T")

PROCESSES = 10

Make = Callable[[], Gate]


class Get(Command[None]):
    """A request."""

    __slots__ = ()


class Quota(Service):
    """100 requests in each 10 s; more are refused until the next window, with Retry-After."""

    def begin(self, events: Events) -> Serving:
        return _Quota(events)


class _Quota(Serving):
    def __init__(self, events: Events) -> None:
        self.events, self.window, self.used = events, 0, 0

    def ask(self, request: Request) -> None:
        now = self.events.now
        window = int(now / 10)
        if window != self.window:
            self.window, self.used = window, 0
        self.used += 1
        if self.used <= 100:
            self.events.after(0.02, Request.answer, request)
        else:
            failure = Throttled(ceil((window + 1) * 10 - now))
            self.events.after(0.02, request.fail, failure)


class Bucket(Service):
    """10 requests a second, in bursts of 10; what is more is refused, without Retry-After."""

    def begin(self, events: Events) -> Serving:
        return _Bucket(events)


class _Bucket(Serving):
    def __init__(self, events: Events) -> None:
        self.events, self.tokens, self.since = events, 10.0, 0.0

    def ask(self, request: Request) -> None:
        now = self.events.now
        self.tokens, self.since = min(10.0, self.tokens + (now - self.since) * 10), now
        if self.tokens >= 1:
            self.tokens -= 1
            self.events.after(0.02, Request.answer, request)
        else:
            self.events.after(0.02, request.fail, Throttled())


class Costly(Service):
    """100 requests a second, with a queue of 50; a refusal takes 0.3 of the work of a request."""

    def begin(self, events: Events) -> Serving:
        return _Costly(events)


class _Costly(Serving):
    def __init__(self, events: Events) -> None:
        self.events = events
        self.queue: deque[Request] = deque()
        self.refused: deque[Request] = deque()
        self.busy = False

    def ask(self, request: Request) -> None:
        (self.queue if len(self.queue) < 50 else self.refused).append(request)
        self.work()

    def work(self) -> None:
        if self.busy or not (self.refused or self.queue):
            return
        self.busy = True
        if self.refused:
            self.events.after(0.003, self.refuse, self.refused.popleft())
        else:
            self.events.after(0.01, self.answer, self.queue.popleft())

    def answer(self, request: Request) -> None:
        self.busy = False
        request.answer()
        self.work()

    def refuse(self, request: Request) -> None:
        self.busy = False
        request.fail(ServerError(503))
        self.work()


class Down(Service):
    """A service that answers after 10 ms, and in an outage refuses after 2 ms."""

    def begin(self, events: Events) -> Serving:
        return _Down(events)


class _Down(Serving):
    def __init__(self, events: Events) -> None:
        self.events, self.down = events, False

    def ask(self, request: Request) -> None:
        if self.down:
            self.events.after(0.002, request.fail, ServerError(503))
        else:
            self.events.after(0.01, Request.answer, request)

    def set_speed(self, speed: float) -> None:
        self.down = not speed


class Partial(Service):
    """A service that answers a share of the tries after 10 ms, by chance, and fails the others."""

    def __init__(self, share: float) -> None:
        self.share = share

    def begin(self, events: Events) -> Serving:
        return _Partial(self.share, events)


class _Partial(Serving):
    def __init__(self, share: float, events: Events) -> None:
        self.share, self.events = share, events

    def ask(self, request: Request) -> None:
        if self.events.random.random() < self.share:
            self.events.after(0.01, Request.answer, request)
        else:
            self.events.after(0.01, request.fail, ServerError(503))


class Book(Gate):
    """The throttle of Google's SRE book as it stands there, but without random numbers.

    It counts tries when they begin, in a window of `ttl` seconds, and no answer clears the window.
    """

    longest = 0.0

    def __init__(self, over: float, ttl: float) -> None:
        self.over, self.ttl, self.owed = over, ttl, 0.0
        self.came: deque[float] = deque()
        self.answered: deque[float] = deque()

    @override
    def enter(self, now: float, came: float, until: float) -> float:
        for times in self.came, self.answered:
            while times and times[0] <= now - self.ttl:
                times.popleft()
        many = len(self.came)
        self.owed += max(0.0, (many - self.over * len(self.answered)) / (many + 1))
        self.came.append(now)
        if self.owed >= 1:
            self.owed -= 1
            raise Crowded
        return now

    @override
    def hear(self, failure: Exception | None, now: float, began: float) -> None:
        if failure is None:
            self.answered.append(now)


def each_of(made: Sequence[T]) -> Callable[[int], T]:
    """Return a function from a client to the object that it shares with others."""
    return lambda client: made[client % len(made)]


def effects(make: Make | None, gates: int) -> list[Attempt[Get | Now | Delay, None]]:
    """Return the effect of each process: a request, through its gate."""
    return [do(Get()).through(make()) if make else do(Get()) for _ in range(gates)]


def quota(make: Make | None, gates: int, service: Service, seed: int) -> Outcome:
    """Simulate 200 clients that want 20 requests a second of a service that allows 10."""
    return simulate(
        each_of([at(N5).retry(effect) for effect in effects(make, gates)]),
        service.serves(Get),
        clients=200,
        think=10,
        seconds=120,
        seed=seed,
    )


class Guards(NamedTuple):
    """The guards of each of ten processes: makers of a gate, a budget and a breaker."""

    gate: Make | None = None
    budget: Callable[[], RetryBudget] | None = None
    breaker: Callable[[], CircuitBreaker] | None = None

    def simulated(self, service: Service, *, limit: float | None = None, **how: Any) -> Outcome:
        """Simulate clients that arrive, each in one of the processes."""
        tried = effects(self.gate, PROCESSES)
        tried = [effect.guarded(self.breaker()) for effect in tried] if self.breaker else tried
        tried = [effect.limit(limit) for effect in tried] if limit else tried
        return simulate(
            each_of([at(N3).retry(effect) for effect in tried]),
            service.serves(Get),
            budget=each_of([self.budget() for _ in range(PROCESSES)]) if self.budget else None,
            **how,
        )


def overload(guards: Guards, load: float, seed: int) -> Outcome:
    """Simulate `load` times the capacity of `Costly`, with 2 s for each try."""
    waits = Exponential(0.2, cap=2).jittered(2)
    return guards.simulated(
        Costly(), limit=2, arrivals=100 * load, seconds=40, schedule=waits, seed=seed
    )


def partial_outage(guards: Guards, share: float, seed: int) -> Outcome:
    """Simulate 60 runs a second of a service that answers a share of the tries only."""
    return guards.simulated(Partial(share), arrivals=60, seconds=40, seed=seed)


def well(outcome: Outcome) -> float:
    """Return the runs that succeed a second, from second 20 to 40."""
    return outcome.rate(lambda second: second.well, 20, 40)


def recovery(guards: Guards, seed: int) -> Outcome:
    """Simulate 60 runs a second, and an outage of `Down` from second 60 to 120."""
    outages = [Outage(start=60, length=60)]
    return guards.simulated(Down(), arrivals=60, seconds=300, outages=outages, seed=seed)


def recovered(outcome: Outcome) -> float:
    """Return the seconds after the outage until 80 % of the runs succeed; 180 if they never do."""
    steady = outcome.rate(lambda second: second.well, 30, 60)
    after = outcome.recovered_after(120, steady, share=0.8, span=10)
    return 180.0 if after is None else after
