"""The fleets that are measured: programs of ours, and processes of SimPy that do the same.

A client thinks, performs an effect, and while that fails, waits and performs it again, 20 times at
most. Each request takes its time, and a part of them fails. SimPy's clients are nested generators,
and a limit is `answer | timeout`, once for the whole effect.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from importlib import import_module
from random import Random
from typing import Any, NamedTuple, TypeAlias

from ixbackoff import N20, Command, Do, Exponential, at, attempt, do
from ixbackoff.fleet import Events, Outcome, Request, Service, Serving, simulate
from ixbackoff.fleet.simulator import simulating

THINK, TAKES, SHARE, LIMIT = 10.0, 0.1, 0.3, 2.0
TRIES = 21
WAITS = Exponential(1.0, 2.0, cap=30.0)
SPREAD = 2.0
SECONDS = [WAITS.seconds(k) for k in range(TRIES)]

Process: TypeAlias = Generator[Any, Any, None]


class Ask(Command[None]):
    __slots__ = ()


class Store(Command[None]):
    __slots__ = ()


class Flaky(Service):
    """A service whose requests all take the same time; some fail, and all while it is stopped."""

    def begin(self, events: Events) -> Serving:
        return FlakyServing(events)


class FlakyServing(Serving):
    def __init__(self, events: Events) -> None:
        self.events = events
        self.share = SHARE

    def ask(self, request: Request) -> None:
        self.events.after(TAKES, self.end, request)

    def end(self, request: Request) -> None:
        if self.events.random.random() < self.share:
            request.fail(ConnectionError())
        else:
            request.answer()

    def set_speed(self, speed: float) -> None:
        self.share = SHARE if speed else 1.0


@attempt
def both() -> Do[Ask | Store, None]:
    yield from Ask()
    yield from Store()


@attempt
def both_limited() -> Do[Any, None]:
    yield from do(Ask()).limit(LIMIT)
    yield from do(Store()).limit(LIMIT)


def asked(environment: Any, random: Random) -> Process:
    yield environment.timeout(TAKES)
    if random.random() < SHARE:
        raise ConnectionError


def asked_both(environment: Any, random: Random) -> Process:
    yield from asked(environment, random)
    yield from asked(environment, random)


def asked_in_time(environment: Any, random: Random, late: Any) -> Process:
    answer = environment.timeout(TAKES)
    yield answer | late
    if not answer.processed:
        raise TimeoutError
    if random.random() < SHARE:
        raise ConnectionError


def asked_limited(environment: Any, random: Random) -> Process:
    yield from asked_in_time(environment, random, environment.timeout(LIMIT))


def asked_both_in_time(environment: Any, random: Random) -> Process:
    late = environment.timeout(LIMIT)
    yield from asked_in_time(environment, random, late)
    yield from asked_in_time(environment, random, late)


def asked_both_limited(environment: Any, random: Random) -> Process:
    yield from asked_limited(environment, random)
    yield from asked_limited(environment, random)


class Model(NamedTuple):
    """One kind of client.

    Attributes:
        name: what it performs.
        program: as we write it.
        process: the effect, as a process of SimPy; `None` for a command, which needs none.
    """

    name: str
    program: Any
    process: Callable[[Any, Random], Process] | None


MODELS = {
    "command": Model("a command", at(N20).retry(Ask()), None),
    "attempt": Model("an attempt of two commands", at(N20).retry(both()), asked_both),
    "chained": Model(
        "a chain of two commands", at(N20).retry(do(Ask()).then(lambda _: Store())), asked_both
    ),
    "limited": Model(
        "a command with a limit", at(N20).retry(do(Ask()).limit(LIMIT)), asked_limited
    ),
    "within": Model(
        "an attempt with a limit", at(N20).retry(do(both()).limit(LIMIT)), asked_both_in_time
    ),
    "limits": Model("an attempt of two limits", at(N20).retry(both_limited()), asked_both_limited),
}


def ours(model: Model, clients: int, seconds: float, **how: Any) -> Outcome:
    service = Flaky()
    return simulate(
        model.program,
        service.serves(Ask) | service.serves(Store),
        clients=clients,
        seconds=seconds,
        schedule=WAITS.jittered(SPREAD),
        think=THINK,
        **how,
    )


def theirs(model: Model, clients: int, seconds: float) -> Any:
    """Simulate the same in SimPy, with the garbage collector running as rarely."""
    environment = begun(model, clients)
    with simulating():
        environment.run(until=seconds)
    return environment


def begun(model: Model, clients: int) -> Any:
    environment, random = import_module("simpy").Environment(), Random(0)  # noqa: S311
    with simulating():
        for _ in range(clients):
            if model.process is None:
                environment.process(commanding(environment, random))
            else:
                environment.process(trying(environment, random, model.process))
    return environment


def commanding(environment: Any, random: Random) -> Process:
    while True:
        yield environment.timeout(random.expovariate(1 / THINK))
        for k in range(TRIES):
            yield environment.timeout(TAKES)
            if random.random() >= SHARE or k == TRIES - 1:
                break
            yield environment.timeout(SECONDS[k] * random.uniform(1.0, SPREAD))


def trying(environment: Any, random: Random, effect: Callable[[Any, Random], Process]) -> Process:
    while True:
        yield environment.timeout(random.expovariate(1 / THINK))
        for k in range(TRIES):
            try:
                yield from effect(environment, random)
            except (ConnectionError, TimeoutError):
                if k == TRIES - 1:
                    break
            else:
                break
            yield environment.timeout(SECONDS[k] * random.uniform(1.0, SPREAD))


def their_events(model: Model, clients: int, seconds: float) -> int:
    """Count SimPy's timeouts: the ends of thinking, requests, waits and limits, as ours."""
    environment, timeout = begun(model, clients), import_module("simpy").Timeout
    count = 0
    while environment.peek() < seconds:
        count += environment._queue[0][-1].__class__ is timeout
        environment.step()
    return count
