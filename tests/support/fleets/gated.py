"""Services with a quota, an overload or an outage, and fleets that ask them through gates."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from math import ceil
from statistics import fmean
from typing import Any, NamedTuple

from ixbackoff import (
    N3,
    N5,
    CircuitBreaker,
    Command,
    Exponential,
    Gate,
    RetryBudget,
    ServerError,
    Throttled,
    at,
    do,
)
from ixbackoff.fleet import Outage, Request, Service, Serving, simulate
from ixbackoff.fleet.event_queue import Events

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

    def stop(self) -> None:
        self.down = True

    def resume(self) -> None:
        self.down = False


def through(make: Make | None, gates: int) -> Any:
    """Return the effect of each client: `gates` gates, each shared by equally many clients."""
    if make is None:
        return lambda _: do(Get())
    made = [make() for _ in range(gates)]
    return lambda client: do(Get()).through(made[client % gates])


class Quotient(NamedTuple):
    """Rates a second, the share of requests in vain, and the most requests in a second."""

    asked: float
    in_vain: float
    peak: int
    well: float
    gave_up: float


def quota(make: Make | None, gates: int, service: Service, seed: int) -> Quotient:
    """200 clients that want 20 requests a second of a service that allows 10."""
    effect = through(make, gates)
    outcome = simulate(
        lambda client: at(N5).retry(effect(client)),
        service.serves(Get),
        clients=200,
        think=10,
        seconds=120,
        seed=seed,
    )
    seconds = outcome.seconds[20:]
    asked = sum(second.asked for second in seconds)
    return Quotient(
        asked / len(seconds),
        sum(second.failed for second in seconds) / max(1, asked),
        max(second.asked for second in seconds),
        fmean(second.well for second in seconds),
        fmean(second.gave_up for second in seconds),
    )


def overload(way: str, make: Make | None, load: float, seed: int) -> tuple[float, float]:
    """Return the runs that succeed and the requests, a second, at `load` times the capacity."""
    effect = through(make, PROCESSES)
    budgets = [RetryBudget(10) for _ in range(PROCESSES)]
    breakers = [CircuitBreaker(failures=20, within=2, open_for=2) for _ in range(PROCESSES)]
    outcome = simulate(
        lambda client: at(N3).retry(do(effect(client)).limit(2)),
        Costly().serves(Get),
        arrivals=100 * load,
        seconds=60,
        seed=seed,
        schedule=Exponential(0.2, cap=2).jittered(2),
        budget=(lambda client: budgets[client % PROCESSES]) if way == "budget" else None,
        breaker=(lambda client: breakers[client % PROCESSES]) if way == "breaker" else None,
    )
    return outcome.rate(lambda second: second.well, 24, 60), outcome.rate(
        lambda second: second.asked, 24, 60
    )


def recovery(make: Make | None, seed: int) -> tuple[float | None, float]:
    """Return the seconds until 80 % succeed after an outage of 60 s, and the requests in it."""
    effect = through(make, PROCESSES)
    outcome = simulate(
        lambda client: at(N3).retry(effect(client)),
        Down().serves(Get),
        arrivals=60,
        seconds=300,
        outages=[Outage(start=60, length=60)],
        seed=seed,
    )
    steady = outcome.rate(lambda second: second.well, 30, 60)
    recovered = outcome.recovered_after(120, steady, share=0.8, span=10)
    return recovered, outcome.rate(lambda second: second.asked, 70, 120)
