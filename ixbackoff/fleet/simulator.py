"""`Simulator`: one simulation. It makes the clients and advances virtual time."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from math import ceil, log
from typing import Any

from .._limits.breakers import CircuitBreaker, checked_breaker
from .._limits.budgets import RetryBudget
from .._limits.deadlines import LEFT, checked_seconds
from .._limits.nesting import OVER, RUNNING, this_thread
from .._meaning.chains import Ladder
from .._meaning.run_defaults import Defaults
from .._meaning.trampoline import IN_PLACE
from .._running.traces import Performed
from .._words.commands import Misuse
from ..schedules.base import Timing
from .arrivals import Arrivals, arrival_times
from .environment import Environment, checked_budget, checked_program, standard
from .event_queue import Events
from .lost_capacity import Outage
from .services.service import Served, Service, Serving
from .simulation_outcome import Outcome, Second
from .single_retry_clients import RetryClient
from .single_retry_settings import Retrying, retried
from .task_performers import StreamClient, TaskPerformer, streams

SELDOM = (100_000, 50, 100)
"""Thresholds of the garbage collector: a simulation makes many long-lived objects, no cycles."""

AT_ONE_TIME = 100
"""A client adds this to the limit of events at one virtual time: 20 waits make fewer than 100."""


class Simulator:
    def __init__(
        self,
        services: Served[Any],
        timing: Timing | None,
        within: float | None,
        think: float | None,
        arrivals: Arrivals | None,
        seed: int,
        trace: bool,
    ) -> None:
        self.timing = timing  # if `timing` or `within` is `None`, each program has its own
        self.within = within
        self.rate = None if think is None else 1.0 / think
        self.arrivals = arrivals
        self.present: dict[int, TaskPerformer] = {}  # the arrived clients that still run
        self.end = self.done if arrivals is None else self.left
        self.events = Events(seed)
        self.random = self.events.random.random
        self.ended = 0.0
        self.gave_up: set[int] = set()
        self.known: dict[int, tuple[Ladder, Defaults, Retrying | None]] = {}
        begun: dict[int, Serving] = {}
        serving: dict[type, Serving] = {}
        handlers = standard(self.events)
        for kind, service in services.services.items():
            if isinstance(service, Service):
                if id(service) not in begun:
                    begun[id(service)] = service.begin(self.events)
                serving[kind] = begun[id(service)]
            else:
                handlers[kind] = service
        self.serving = tuple(begun.values())
        performed: list[Performed] = []
        self.environment = Environment(
            self.events,
            serving,
            handlers,
            timing is not None and timing.from_start,
            performed if trace else None,
        )

    def outcome(
        self,
        program: Any,
        budget: Callable[[int], RetryBudget] | None,
        breaker: Callable[[int], CircuitBreaker] | None,
        clients: int,
        seconds: float,
        outages: Sequence[Outage],
        watch: Callable[[int, Second], None] | None,
    ) -> Outcome:
        LEFT.set(None)
        RUNNING.set(OVER)

        def made(number: int) -> TaskPerformer:
            own_budget = None if budget is None else checked_budget(budget(number))
            own_breaker = None if breaker is None else checked_breaker("breaker", breaker(number))
            self.events.most += AT_ONE_TIME
            return self.client(number, program, own_budget, own_breaker)

        running: list[TaskPerformer] = []
        numbers = count(clients)
        with simulating():
            try:
                self.plan_outages(outages)
                running.extend(map(made, range(clients)))
                if self.arrivals is not None:
                    times = arrival_times(self.arrivals, seconds, self.random)
                    self.plan_arrival(times, made, numbers)
                self.run(running, seconds, watch)
            finally:
                IN_PLACE[0] = None
                for client in [*running, *self.present.values()]:
                    client.close()
                running.clear()  # here, and not by the garbage collector
                self.events.clear()
        return Outcome(
            tuple(self.environment.tally.seconds),
            next(numbers),
            self.events.count,
            self.ended,
            tuple(self.environment.trace or ()),
            len(self.gave_up),
            self.environment.tally.latencies,
        )

    def run(
        self,
        clients: list[TaskPerformer],
        seconds: float,
        watch: Callable[[int, Second], None] | None,
    ) -> None:
        events, tally = self.events, self.environment.tally
        for client in clients:
            self.plan_run(client)
        for second in range(ceil(seconds)):
            events.run(until=min(second + 1.0, seconds))
            load = sum([serving.load() for serving in self.serving])
            tally.end(load)
            if watch is not None:
                watch(second, tally.seconds[-1])
            elif events.empty:
                tally.rest(ceil(seconds) - second - 1, load)
                break

    def plan_arrival(
        self, times: Iterator[float], made: Callable[[int], TaskPerformer], numbers: Iterator[int]
    ) -> None:
        """Plan the arrival of the next client; each arrival plans the one after it."""

        def arrive(_: object) -> None:
            number = next(numbers)
            client = self.present[number] = made(number)
            client.since = self.events.now
            self.plan_arrival(times, made, numbers)
            client.begin()

        when = next(times, None)
        if when is not None:
            self.events.at(when, arrive)

    def plan_run(self, client: TaskPerformer) -> None:
        pause = 0.0 if self.rate is None else -log(1.0 - self.random()) / self.rate
        client.since = when = self.events.now + pause
        self.events.at(when, type(client).begin, client)

    def plan_outages(self, outages: Sequence[Outage]) -> None:
        for outage in outages:
            for serving in self.serving:
                if serving.__class__.set_speed is Serving.set_speed:
                    serving.set_speed(0)  # raises Misuse: this service has no outages
                for when, speed in zip(outage.span, (1 - outage.lost, 1), strict=True):
                    self.events.at(when, serving.set_speed, speed)
        if outages and not self.serving:
            raise Misuse("There are outages, but no service that could stop: leave out outages=.")

    def client(
        self, number: int, program: Any, budget: RetryBudget | None, breaker: CircuitBreaker | None
    ) -> TaskPerformer:
        given: object = program
        if not isinstance(given, Ladder) and callable(given):
            given = program(number)
        own, how, shared = self.known.get(id(given)) or self.retrying(given)
        budget, breaker = budget or how.budget, breaker or how.breaker
        if shared is not None:
            guards = shared.guards
            if shared.guarded:
                guards = shared.gates + (() if breaker is None else (breaker,)) + guards
            if len(guards) < 2 or max(map(guards.count, guards)) == 1:
                return RetryClient(shared, number, budget, guards)
        limits = Defaults(
            within=how.within,
            budget=budget,
            breaker=breaker,
            longest=how.longest,
            through=how.through,
        )
        make = streams(own, limits, self.timing or how.schedule, self.events.random)
        return StreamClient(self.environment, number, make, self.end)

    def retrying(self, given: object) -> tuple[Ladder, Defaults, Retrying | None]:
        """Return a program, its limits, and its clients' shared state if it is a single retry."""
        program = checked_program(given)
        how = program._defaults.replace(None, self.within)
        within, timing = checked_seconds("within", how.within), self.timing or how.schedule
        step, made = retried(program), None
        if step is not None and (within is None or within > 0):
            made = Retrying(self.environment, program, step, timing, within, self.end)
        self.known[id(given)] = program, how, made  # keeps the program, so its id is not used again
        return program, how, made

    def done(self, client: TaskPerformer, answer: object, failure: BaseException | None) -> None:  # noqa: ARG002
        events, tally = self.events, self.environment.tally
        self.ended = now = events.now
        if failure is None:
            tally.well += 1
            tally.latencies.append(now - client.since)
        else:
            tally.gave_up += 1
            self.gave_up.add(client.number)
        if self.rate is not None:  # as in `plan_run`, inlined
            client.since = when = now - log(1.0 - self.random()) / self.rate
            events.at(when, type(client).begin, client)

    def left(self, client: TaskPerformer, answer: object, failure: BaseException | None) -> None:
        self.done(client, answer, failure)
        del self.present[client.number]


@contextmanager
def simulating() -> Generator[None]:
    """Let the garbage collector run seldom in this block, and call no observers."""
    before, thread = gc.get_threshold(), this_thread()
    notifying, thread.notifying = thread.notifying, True
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        thread.notifying = notifying
