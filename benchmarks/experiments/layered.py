"""How retries in layers multiply while the service at the bottom is down, and whether it recovers.

The table compares numbers of layers, with and without budgets, for a short and a long queue at the
bottom. A retry inside a retry is a type error, but a type checker does not see across services.
Here each layer is a server that retries its requests to the next layer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Annotated, NamedTuple

from ixbackoff import N2, Exponential, RetryBudget, at, do
from ixbackoff._argument_parser import number, whole
from ixbackoff.fleet import BoundedQueue, Layer, Metered, Outage, Service, simulate
from ixbackoff.schedules import Schedule

from ..drawing import Picture, grid
from .experiment import (
    Ask,
    Cells,
    Experiment,
    Shown,
    Watched,
    grouped,
    recovery_cells,
    shared,
)

TRIES = 3
LIMIT = 1.0  # seconds that a layer waits for the next one
SCHEDULE: Schedule = Exponential(0.1)
WAITS = 0.3  # the sum of the waits of a run, seconds

RETRYING = at(N2).retry(do(Ask()).limit(LIMIT))
"""The program of each layer and of the clients."""

THINK = 10.0
WORK = 0.06  # seconds for a request at the bottom
SHARE = 50  # clients per worker, who keep the worker busy for three tenths of the time
STEADY = 20


class Layering(NamedTuple):
    """A number of layers that retry, with or without budgets."""

    name: str
    layers: int  # the clients are the topmost
    budget: Callable[[], RetryBudget] | None = None  # makes the budget of a layer
    more: Callable[[float], float] | None = None  # from the requests/s received to the most sent

    def runs(self, clients: int) -> float:
        """Return the runs of all clients per second while the bottom is down, in closed form.

        A try takes as long as all tries and waits of the layer below, but at most the limit. With a
        budget the result is an upper bound: it assumes no waits and no time for tries.

        >>> [round(Layering("", layers).runs(500), 1) for layers in (1, 2, 3, 4)]
        [48.5, 44.6, 37.6, 37.6]
        """
        if self.more is not None:
            return clients / THINK
        seconds = 0.0
        for _ in range(self.layers):
            seconds = TRIES * min(LIMIT, seconds) + WAITS
        return clients / (THINK + seconds)

    def asked(self, clients: int) -> float:
        """Return the requests at the bottom per second while it is down, in closed form."""
        rate = self.runs(clients)
        for _ in range(self.layers):
            rate = TRIES * rate if self.more is None else self.more(rate)
        return rate


def finagle(rate: float) -> float:
    """Return the requests per second with `RetryBudget.finagle`: one fifth and ten are added."""
    return rate * 1.2 + 10


def layerings(layers: int) -> list[Layering]:
    """Return 1 to `layers` layers without budgets, and some with budgets."""
    bare = [Layering(f"{count} layer{'s'[: count - 1]}", count) for count in range(1, layers + 1)]
    return [
        *bare,
        Layering("1 layer, finagle", 1, RetryBudget.finagle, finagle),
        Layering("1 layer, grpc", 1, RetryBudget.grpc, float),  # as many: no retries in an outage
        Layering(f"{bare[-1].name}, finagle", layers, RetryBudget.finagle, finagle),
    ]


class Layered(NamedTuple):
    way: Layering
    queue: float  # the seconds that a request waits at the bottom if the queue is full
    asked: tuple[int, ...]  # the requests at the bottom in each second
    runs: float  # the runs of the clients that ended per second, in the second half of the outage
    rate: float  # the requests at the bottom per second, in the second half of the outage
    watched: Watched  # the simulation as the clients saw it


def layered(
    layers: Annotated[int, whole(1, 5), "the greatest number of layers"] = 4,
    *,
    queue: Annotated[
        Iterable[float], number(0, 3600), "the wait at the bottom if its queue is full", "SECONDS"
    ] = (0.3, 6.0),
    clients: Annotated[int, whole(1, 10_000), "the number of clients, 50 for each worker"] = 500,
    outage: Annotated[int, whole(2, 3600), "the outage, whole seconds", "SECONDS"] = 30,
    watch: Annotated[int, whole(10, 3600), "whole seconds after the outage", "SECONDS"] = 60,
    seed: int = 0,
) -> list[Layered]:
    """Simulate each number of layers with each queue at the bottom."""
    return [
        nested(way, seconds, clients, outage, watch, seed)
        for seconds in queue
        for way in layerings(layers)
    ]


def nested(
    way: Layering, queue: float, clients: int, outage: int, watch: int, seed: int
) -> Layered:
    workers = max(1, clients // SHARE)
    bottom = Metered(BoundedQueue(round(queue * workers / WORK), WORK, workers))
    service: Service = bottom
    for _ in range(way.layers - 1):
        service = Layer(RETRYING, service, schedule=SCHEDULE, budget=way.budget)
    end = STEADY + outage
    outcome = simulate(
        RETRYING,
        service.serves(Ask),
        clients=clients,
        seconds=end + watch,
        schedule=SCHEDULE,
        think=THINK,
        budget=way.budget and shared(way.budget),
        outages=[Outage(STEADY, outage)],
        seed=seed,
    )
    asked = tuple(bottom.asked[second] for second in range(end + watch))
    half = end - (outage + 1) // 2
    return Layered(
        way=way,
        queue=queue,
        asked=asked,
        runs=outcome.rate(lambda second: second.well + second.gave_up, half, end),
        rate=sum(asked[half:end]) / (end - half),
        watched=Watched(outcome, Outage(STEADY, outage)),
    )


def row(result: Layered) -> Cells:
    clients = result.watched.outcome.clients
    asked, runs = result.way.asked(clients), result.way.runs(clients)
    return {
        "queue": f"{result.queue:3.1f} s",
        "retries": result.way.name,
        "requests per run | closed": f"{asked / runs:.1f}",
        "requests per run | simul.": Shown(
            result.rate / result.runs if result.runs else None, "{:.1f}", "-"
        ),
        "requests/s | closed": f"{asked:.0f}",
        "requests/s | simul.": Shown(result.rate),
        **recovery_cells(result.watched),
    }


def picture(results: Sequence[Layered]) -> Picture:
    columns = {
        f"a request waits in a full queue for {queue:g} s": {
            result.way.name: (result.asked, result.watched.well)
            for result in some
            if result.way.name not in ("3 layers", "1 layer, finagle")  # they lie between others
        }
        for queue, some in grouped(results, attrgetter("queue")).items()
    }
    return grid(
        "Retries in layers multiply, and keep a service with a long queue down",
        columns,
        {"requests/s at the bottom": "symlog", "runs/s that end well": "linear"},
        ("the service is down", results[0].watched.stopped.span),
        "n layers: the clients and n - 1 services, with three tries each. finagle, grpc: budgets.",
    )


EXPERIMENT = Experiment(layered, row, picture, names=2)
