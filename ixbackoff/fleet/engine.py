"""The engine of `simulate`: it makes the clients and advances virtual time."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import count
from math import ceil, log
from typing import Any

from .._limits.breakers import CircuitBreaker, checked_breaker
from .._limits.budgets import RetryBudget
from .._limits.deadlines import LEFT
from .._limits.nesting import OVER, RUNNING
from .._meaning.chains import Ladder
from .._meaning.defaults import Defaults
from .._meaning.runs import ProgramRun
from .._meaning.semantics import unrolled
from .._running.traces import Performed
from .._words.commands import Handlers, Interpreter, Misuse, Stream
from .._words.nat import name_of
from .._words.vocabulary import Log, Now, Pick, Throw
from ..schedules.kinds import Timing
from .attempt_clients import AttemptRetrying
from .clients import Client
from .command_clients import CommandRetrying
from .descents import Retrying
from .environments import Environment, Running
from .events import Events
from .outcomes import Outcome, Second
from .services import Served, Service, Serving
from .tries import tried

SELDOM = (100_000, 50, 100)
"""Thresholds of the collector: the engine makes many long-lived objects and no cycles."""

TRIES = 100
"""Events of a client at the same time: more than a ladder of 20 waits has."""


class Engine:
    """One simulation."""

    def __init__(
        self,
        services: Served[Any],
        timing: Timing,
        within: float | None,
        think: float | None,
        arrivals: float | None,
        seed: int,
        trace: bool,
    ) -> None:
        self.timing = timing
        self.within = within
        self.rate = None if think is None else 1.0 / think
        self.arrivals = arrivals
        self.present: dict[int, Running] = {}  # who has come, and has not left yet
        self.end = self.done if arrivals is None else self.left
        self.events = Events(seed)
        self.random = self.events.random.random
        self.ended = 0.0
        self.gave_up: set[int] = set()
        self.known: dict[int, tuple[Ladder, Retrying | None]] = {}
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
        happened: list[Performed] = []
        self.environment = Environment(
            self.events, serving, handlers, timing.from_start, happened if trace else None
        )

    def simulated(
        self,
        program: Any,
        budget: Callable[[int], RetryBudget] | None,
        breaker: Callable[[int], CircuitBreaker] | None,
        clients: int,
        seconds: float,
        stops: tuple[tuple[float, float], ...],
        watch: Callable[[int, Second], None] | None,
    ) -> Outcome:
        """Run the simulation, and return its outcome."""
        LEFT.set(None)
        RUNNING.set(OVER)

        def made(number: int) -> Running:
            mine = None if budget is None else checked_budget(budget(number))
            guard = None if breaker is None else checked_breaker("breaker", breaker(number))
            self.events.most += TRIES
            return self.client(number, program, mine, guard)

        running: list[Running] = []
        come = count(clients)
        try:
            with seldom_collected():
                self.stop_at(stops)
                running.extend(map(made, range(clients)))
                self.come_after(self.arrivals, made, come)
                self.run(running, seconds, watch)
        finally:
            for client in [*running, *self.present.values()]:
                client.close()
        return Outcome(
            tuple(self.environment.tally.seconds),
            next(come),
            self.events.count,
            self.ended,
            tuple(self.environment.trace or ()),
            len(self.gave_up),
        )

    def run(
        self,
        clients: list[Running],
        seconds: float,
        watch: Callable[[int, Second], None] | None,
    ) -> None:
        """Advance virtual time from the beginning to the end."""
        events, tally = self.events, self.environment.tally
        for client in clients:
            events.after(self.pause(), client.__class__.begin, client)
        for second in range(ceil(seconds)):
            events.run(until=min(second + 1.0, seconds))
            load = sum([serving.load() for serving in self.serving])
            tally.end(load)
            if watch is not None:
                watch(second, tally.seconds[-1])
            elif events.empty:
                tally.rest(ceil(seconds) - second - 1, load)
                break

    def come_after(
        self, rate: float | None, made: Callable[[int], Running], numbers: Iterator[int]
    ) -> None:
        """Let the next client come, after a random time, and then those after it."""
        if rate is None:
            return

        def come(_: object) -> None:
            number = next(numbers)
            client = self.present[number] = made(number)
            self.come_after(rate, made, numbers)
            client.begin()

        self.events.after(-log(1.0 - self.random()) / rate, come)

    def stop_at(self, stops: tuple[tuple[float, float], ...]) -> None:
        """Plan the outages."""
        for start, end in stops:
            for serving in self.serving:
                if serving.__class__.stop is Serving.stop:
                    serving.stop()  # which says that it cannot
                self.events.at(start, _stop, serving)
                self.events.at(end, _resume, serving)
        if stops and not self.serving:
            raise Misuse("There are outages, and no service that could stop.")

    def client(
        self, number: int, program: Any, budget: RetryBudget | None, breaker: CircuitBreaker | None
    ) -> Running:
        """Make a client, with its program, its budget and its circuit breaker."""
        given: object = program
        if not isinstance(given, Ladder) and callable(given):
            given = program(number)
        mine = checked_program(given)
        if budget is None and breaker is None and self.within is None:
            shared = self.retrying(mine)
            if shared is not None:
                return shared.client(number)

        def stream() -> Stream:
            how = Defaults(within=self.within, budget=budget, breaker=breaker)
            return unrolled(mine, how, run=ProgramRun(mine, self.timing, self.events.random))

        return Client(self.environment, number, stream, self.end)

    def retrying(self, program: Ladder) -> Retrying | None:
        """The state that the clients of `program` share, if it is `at(rung).retry(effect)`."""
        known = self.known.get(id(program))
        if known is None:  # the program is kept, so that its id stays its own
            known = self.known[id(program)] = program, self.recognized(program)
        return known[1]

    def recognized(self, program: Ladder) -> Retrying | None:
        found = tried(program)
        if found is None:
            return None
        how = self.environment, program, found, self.timing, self.end
        if found.command is not None:
            serving = self.environment.find(found.command.__class__)
            if serving is not None:
                return CommandRetrying(*how, serving)
        return AttemptRetrying(*how)

    def pause(self) -> float:
        return 0.0 if self.rate is None else -log(1.0 - self.random()) / self.rate

    def done(self, client: Running, answer: object, failure: BaseException | None) -> None:  # noqa: ARG002
        """Count an end of a client's program, and begin it anew after a pause."""
        events, tally = self.events, self.environment.tally
        self.ended = events.now
        if failure is None:
            tally.well += 1
        else:
            tally.gave_up += 1
            self.gave_up.add(client.number)
        if self.rate is not None:
            events.after(-log(1.0 - self.random()) / self.rate, client.__class__.begin, client)

    def left(self, client: Running, answer: object, failure: BaseException | None) -> None:
        """Count an end of the program of a client that came, and forget the client."""
        self.done(client, answer, failure)
        del self.present[client.number]


def checked_program(program: Any) -> Ladder:
    """`program`, if it can run.

    Raises:
        Misuse: it cannot run.
    """
    if not isinstance(program, Ladder):
        raise Misuse(
            f"{program!r} is not a program: give at(...)..., or a function that makes one."
        )
    if program.ends_at:
        raise Misuse(
            f"The program is open, it ends at {name_of(program.ends_at)}: end it with .end(), or "
            "go down with .retry(...)."
        )
    return program


def checked_budget(budget: object) -> RetryBudget:
    """`budget`, if it is a budget.

    Raises:
        Misuse: it is not.
    """
    if not isinstance(budget, RetryBudget):
        raise Misuse(
            f"budget gave {budget!r}, which is not a budget: give a function that makes one."
        )
    return budget


def standard(events: Events) -> Handlers:
    """The handlers of commands that need no service."""

    def throw(command: Throw) -> None:
        try:
            raise command.error
        finally:
            del command  # or the error would be kept alive by a frame in its own traceback

    known: Interpreter[Any] = (
        Log.handled_by(lambda _: None)
        | Now.handled_by(lambda _: events.now)
        | Pick.handled_by(lambda command: events.random.randrange(command.count))
    )
    return {**known._handlers, Throw: throw}


@contextmanager
def seldom_collected() -> Generator[None]:
    """Let the garbage collector run seldom in this block."""
    before = gc.get_threshold()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _stop(serving: Serving) -> None:
    serving.stop()


def _resume(serving: Serving) -> None:
    serving.resume()
