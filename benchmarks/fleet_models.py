"""The fleets that are measured: programs of ours, and processes of SimPy that do the same.

A client thinks, performs an effect, and while that fails, waits and performs it again, 20 times at
most. Each request takes its time, and a part of them fails. `simpy_models` has SimPy's side.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from ixbackoff import (
    N20,
    CircuitBreaker,
    Command,
    Do,
    Limiter,
    RetryBudget,
    all_of,
    at,
    attempt,
    do,
    first_of,
)
from ixbackoff.fleet import Events, Outcome, Request, Service, Serving, simulate

from . import simpy_models as peer
from .simpy_models import LIMIT, LINE, OPENED_FOR, SHARE, SPREAD, TAKES, THINK, WAITS, WITHIN


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
        self.after, self.random = events.after, events.random.random
        self.share = SHARE

    def ask(self, request: Request) -> None:
        self.after(TAKES, self.end, request)

    def end(self, request: Request) -> None:
        if self.random() < self.share:
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


@attempt
def deep() -> Do[Any, None]:
    yield from Ask()
    yield from deeper()


@attempt
def deeper() -> Do[Any, None]:
    yield from Ask()
    yield from both()


class Model(NamedTuple):
    """One kind of client.

    Attributes:
        name: the effect in words.
        effect: the effect that it retries, or a function from the number of clients to the effect.
        process: a client, as a process of SimPy.
        given: the last argument of the process, or a function from the number of clients to it.
        how: a function from the number of clients to more arguments of `simulate`.
    """

    name: str
    effect: Any
    process: Callable[..., peer.Process] = peer.trying
    given: Any = None
    how: Callable[[int], dict[str, Any]] = lambda _: {}

    def program(self, clients: int) -> Any:
        return at(N20).retry(made(self.effect, clients))


def made(given: Any, clients: int) -> Any:
    """Return `given`; if it is a lambda of `MODELS`, its result for this number of clients."""
    return given(clients) if getattr(given, "__name__", "") == "<lambda>" else given


def shared(name: str, make: Callable[[int], Any]) -> Callable[[int], dict[str, Any]]:
    """Return a function that makes an argument of `simulate`, one object for all clients."""

    def keywords(clients: int) -> dict[str, Any]:
        one = make(clients)
        return {name: lambda _: one}

    return keywords


def budget(clients: int) -> RetryBudget:
    return RetryBudget(clients / 2)


def breaker(clients: int) -> CircuitBreaker:
    return CircuitBreaker(failures=clients * 2 // 5, within=10, open_for=OPENED_FOR)


def of_time(_: int) -> dict[str, Any]:
    return {"within": WITHIN}


MODELS = {
    "command": Model("a command", Ask(), given=peer.asked),
    "attempt": Model("an attempt of two commands", both(), given=peer.asked_both),
    "chained": Model(
        "a chain of two commands", do(Ask()).then(lambda _: Store()), given=peer.asked_both
    ),
    "limited": Model("a command with a limit", do(Ask()).limit(LIMIT), given=peer.asked_limited),
    "together_limited": Model(
        "an attempt of two commands, with a limit",
        do(both()).limit(LIMIT),
        given=peer.asked_both_in_time,
    ),
    "limits": Model(
        "an attempt of two commands, each with a limit",
        both_limited(),
        given=peer.asked_both_limited,
    ),
    "nested": Model("attempts three deep, of four commands", deep(), given=peer.asked_deep),
    "all_of": Model(
        "an `all_of` of three commands", all_of(Ask(), Store(), Ask()), given=peer.asked_together
    ),
    "first_of": Model(
        "a `first_of` of two commands", first_of([Ask(), Store()]), given=peer.asked_first
    ),
    "budget": Model(
        "a command, with a budget",
        Ask(),
        peer.paying,
        lambda clients: peer.Bucket(clients / 2),
        shared("budget", budget),
    ),
    "breaker": Model(
        "a command, with a circuit breaker",
        Ask(),
        peer.breaking,
        lambda clients: peer.Circuit(clients * 2 // 5),
        shared("breaker", breaker),
    ),
    "limiter": Model(
        "a command through a limiter",
        lambda clients: do(Ask()).through(Limiter(clients / 6, line=LINE)),
        peer.in_line,
        lambda clients: peer.Turns(clients / 6),
    ),
    "within": Model("a command, `within=60`", Ask(), peer.within, peer.asked_in_time, of_time),
    "attempt_within": Model(
        "an attempt of two commands, `within=60`", both(), peer.within, peer.both_in_time, of_time
    ),
}


def ours(model: Model, clients: int, seconds: float, **how: Any) -> Outcome:
    service = Flaky()
    return simulate(
        model.program(clients),
        service.serves(Ask) | service.serves(Store),
        clients=clients,
        seconds=seconds,
        schedule=WAITS.jittered(SPREAD),
        think=THINK,
        **model.how(clients),
        **how,
    )


def theirs(model: Model, clients: int, seconds: float) -> Any:
    """Simulate the same in SimPy, with the garbage collector running as rarely."""
    environment = begun(model, clients)
    peer.run(environment, seconds)
    return environment


def begun(model: Model, clients: int) -> Any:
    return peer.begun(model.process, made(model.given, clients), clients)


def their_events(model: Model, clients: int, seconds: float) -> int:
    """Count SimPy's timeouts: the ends of thinking, requests, waits and limits, as ours."""
    environment, timeout = begun(model, clients), import_module("simpy").Timeout
    count = 0
    while environment.peek() < seconds:
        count += environment._queue[0][-1].__class__ is timeout
        environment.step()
    return count
