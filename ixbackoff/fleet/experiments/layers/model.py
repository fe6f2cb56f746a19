"""Retries in nested layers multiply; one layer with a budget does not.

A retry in a retry is a type error, but between services nobody checks: here each layer is a server
that retries its requests to the next one, during an outage of the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ...._limits.budgets import RetryBudget
from ...._words.commands import Command
from ...._words.nat import N2, Z
from ...._words.vocabulary import Delay, Now
from ...._writing.attempts import do
from ...._writing.programs import Program, at
from ....schedules.kinds import Exponential, Schedule
from ...intermediate import Layer, Metered
from ...outcomes import Outcome
from ...queues import BoundedQueue
from ...services import Service
from ...simulation import Outage, simulate

TRIES = 3
LIMIT = 1.0  # seconds that a layer waits for the next
SCHEDULE: Schedule = Exponential(0.1)
WAITS = 0.3  # their sum


class Query(Command[None]):
    """A request of a layer to the next."""

    __slots__ = ()


RETRYING: Program[N2, Z, None, Query | Now | Delay] = at(N2).retry(do(Query()).limit(LIMIT))
"""The program of each layer, the clients included."""

CLIENTS = 500
THINK = 10.0
WORK = 0.06  # seconds for a request, at the bottom
SHARE = 50  # clients for each worker: three tenths of its time
QUEUES = (0.3, 6.0)
LAYERS = 4
STEADY = 20
OUTAGE = 30
WATCH = 60


class Way(NamedTuple):
    """A number of layers that retry, with or without budgets.

    Attributes:
        name: its name.
        layers: layers that retry, one above the other; the clients are the topmost.
        budget: makes the budget of a layer; all clients share one.
        more: a function from the requests that a layer gets per second to the most that it sends
            to the next one; `None`, if no budget limits it.
    """

    name: str
    layers: int
    budget: Callable[[], RetryBudget] | None = None
    more: Callable[[float], float] | None = None

    def runs(self, clients: int) -> float:
        """Runs of all clients in a second while the bottom is down, in closed form.

        A try takes as long as all tries and waits of the layer below, but at most the limit.
        With a budget this is the most, since it saves some of the waits.

        >>> [round(Way("", layers).runs(500), 1) for layers in (1, 2, 3, 4)]
        [48.5, 44.6, 37.6, 37.6]
        """
        if self.more is not None:
            return clients / THINK
        seconds = 0.0
        for _ in range(self.layers):
            seconds = TRIES * min(LIMIT, seconds) + WAITS
        return clients / (THINK + seconds)

    def asked(self, clients: int) -> float:
        """Requests at the bottom in a second while it is down, in closed form.

        The tries multiply: each layer makes 3 of each request, or as many as its budget allows.

        >>> [round(Way("", layers).asked(500)) for layers in (1, 2, 3, 4)]
        [146, 402, 1015, 3045]
        """
        rate = self.runs(clients)
        for _ in range(self.layers):
            rate = TRIES * rate if self.more is None else self.more(rate)
        return rate


def finagle(rate: float) -> float:
    """The most requests with `RetryBudget.finagle`: a retry for five requests, and ten a second."""
    return rate * 1.2 + 10


def grpc(rate: float) -> float:
    """The most requests with `RetryBudget.grpc`, which allows no retry while nothing succeeds."""
    return rate


def ways(layers: int = LAYERS) -> list[Way]:
    """The ways that are compared: up to so many layers without budgets, and some with.

    >>> [way.name for way in ways(2)]
    ['1 layer', '2 layers', '1 layer, finagle', '1 layer, grpc', '2 layers, finagle']
    """
    bare = [Way(f"{count} layer{'s'[: count - 1]}", count) for count in range(1, layers + 1)]
    return [
        *bare,
        Way("1 layer, finagle", 1, RetryBudget.finagle, finagle),
        Way("1 layer, grpc", 1, RetryBudget.grpc, grpc),
        Way(f"{layers} layer{'s'[: layers - 1]}, finagle", layers, RetryBudget.finagle, finagle),
    ]


class Layered(NamedTuple):
    """The results of one way.

    Attributes:
        way: the way.
        queue: seconds that a request waits at the bottom, if its queue is full.
        clients: the number of clients.
        asked: requests at the bottom, second by second.
        runs: runs of the clients that ended per second, in the second half of the outage.
        rate: requests at the bottom per second, in the same time.
        before: runs that ended well per second, before the outage.
        last: the same in the last quarter of the time after it.
        recovered: seconds after the outage until it was as before; `None`, if it never was, or
            nothing ended well before the outage.
        stopped: the outage.
        outcome: the simulation as the clients saw it.
    """

    way: Way
    queue: float
    clients: int
    asked: tuple[int, ...]
    runs: float
    rate: float
    before: float
    last: float
    recovered: float | None
    stopped: Outage
    outcome: Outcome


def layered(
    layers: int = LAYERS,
    *,
    queues: Iterable[float] = QUEUES,
    clients: int = CLIENTS,
    outage: int = OUTAGE,
    watch: int = WATCH,
    seed: int = 0,
) -> list[Layered]:
    """Simulate each way, with each queue at the bottom.

    >>> some = layered(2, queues=[0.3], clients=100, outage=20, watch=10)
    >>> [round(one.rate / one.runs) for one in some]  # requests at the bottom for one at the top
    [3, 9, 2, 1, 4]

    Args:
        layers: the most layers.
        queues: seconds that a request waits at the bottom, if its queue is full.
        clients: the number of clients; the bottom has a worker for each fifty of them.
        outage: the whole seconds of the outage.
        watch: whole seconds after it.
        seed: the seed of the random numbers.

    Raises:
        ValueError: `clients` or a number of seconds is not above 0.
    """
    return [
        nested(way, queue, clients, outage, watch, seed) for queue in queues for way in ways(layers)
    ]


def nested(way: Way, queue: float, clients: int, outage: int, watch: int, seed: int) -> Layered:
    """Simulate one way, with one queue."""
    workers = max(1, clients // SHARE)
    bottom = Metered(BoundedQueue(round(queue * workers / WORK), WORK, workers))
    service: Service = bottom
    for _ in range(way.layers - 1):
        service = Layer(RETRYING, service, schedule=SCHEDULE, budget=way.budget)
    shared = way.budget and way.budget()
    end, stopped = STEADY + outage, Outage(STEADY, outage)
    outcome = simulate(
        RETRYING,
        service.serves(Query),
        clients=clients,
        seconds=end + watch,
        schedule=SCHEDULE,
        think=THINK,
        budget=shared and (lambda _: shared),
        outages=[stopped],
        seed=seed,
    )
    asked = tuple(bottom.asked[second] for second in range(end + watch))
    half = end - (outage + 1) // 2
    before = outcome.rate(lambda second: second.well, STEADY // 2, STEADY)
    return Layered(
        way=way,
        queue=queue,
        clients=clients,
        asked=asked,
        runs=outcome.rate(lambda second: second.well + second.gave_up, half, end),
        rate=sum(asked[half:end]) / (end - half),
        before=before,
        last=outcome.rate(lambda second: second.well, end + watch * 3 // 4, end + watch),
        recovered=outcome.recovered_after(end, before, share=0.8, span=10) if before else None,
        stopped=stopped,
        outcome=outcome,
    )
