"""Retries in nested layers multiply; one layer with a budget does not.

A retry inside a retry is a type error, but a type checker does not see across services. Here each
layer is a server that retries its requests to the next layer, during an outage of the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

from ixbackoff import N0, N2, Command, Delay, Exponential, Now, Program, RetryBudget, at, do
from ixbackoff.fleet import BoundedQueue, Layer, Metered, Outage, Service, simulate
from ixbackoff.schedules import Schedule

from ..._argument_parser import Flag, number, whole
from ..drawing import Panel, Picture, by_second
from ..reports import Numbers, Report
from .experiment import Cells, Experiment, grouped, recovery_cells, row_by_row, shared

TRIES = 3
LIMIT = 1.0  # seconds that a layer waits for the next one
SCHEDULE: Schedule = Exponential(0.1)
WAITS = 0.3  # the sum of the waits of a run


class Query(Command[None]):
    __slots__ = ()


RETRYING: Program[N2, N0, None, Query | Now | Delay] = at(N2).retry(do(Query()).limit(LIMIT))
"""The program of each layer and of the clients."""

CLIENTS = 500
THINK = 10.0
WORK = 0.06  # seconds for a request at the bottom
SHARE = 50  # clients per worker, who keep the worker busy for three tenths of the time
QUEUES = (0.3, 6.0)
LAYERS = 4
STEADY = 20
OUTAGE = 30
WATCH = 60


class Layering(NamedTuple):
    """A number of layers that retry, with or without budgets."""

    name: str
    layers: int  # the clients are the topmost
    budget: Callable[[], RetryBudget] | None = None  # makes the budget of a layer
    more: Callable[[float], float] | None = None  # requests/s: those it gets to the most it sends

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


def layerings(layers: int = LAYERS) -> list[Layering]:
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
    last: float  # the runs that succeeded per second in the last quarter after the outage
    report: Report  # the simulation as the clients saw it


def layered(
    layers: int = LAYERS,
    *,
    queues: Iterable[float] = QUEUES,
    clients: int = CLIENTS,
    outage: int = OUTAGE,
    watch: int = WATCH,
    seed: int = 0,
) -> list[Layered]:
    """Simulate each number of layers with each queue at the bottom."""
    return [
        nested(way, queue, clients, outage, watch, seed)
        for queue in queues
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
        service.serves(Query),
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
        last=outcome.rate(lambda second: second.well, end + watch * 3 // 4, end + watch),
        report=Report(outcome, Outage(STEADY, outage)),
    )


def row(result: Layered) -> Cells:
    clients = result.report.outcome.clients
    asked, runs = result.way.asked(clients), result.way.runs(clients)
    return {
        "queue": f"{result.queue:3.1f} s",
        "retries": result.way.name,
        "requests per run | closed": f"{asked / runs:.1f}",
        "requests per run | simul.": f"{result.rate / result.runs:.1f}" if result.runs else "-",
        "requests/s | closed": f"{asked:.0f}",
        "requests/s | simul.": f"{result.rate:.0f}",
        **recovery_cells(result.report, result.last),
    }


def picture(results: Sequence[Layered]) -> Picture:
    asked: list[Panel] = []
    well: list[Panel] = []
    down = "the service is down", results[0].report.stopped.span
    for queue, some in grouped(results, attrgetter("queue")).items():
        requests = by_second({result.way.name: result.asked for result in some})
        runs = by_second({result.way.name: result.report.well for result in some})
        title = f"a full queue at the bottom is a wait of {queue:g} s"
        asked.append(
            Panel("requests/s at the bottom", requests, title=title, scale="symlog", outage=down)
        )
        well.append(Panel("runs/s that end well", runs, outage=down))
    headline = "Retries in layers multiply: requests at the bottom, runs that end well"
    return Picture(headline, [asked, well], inches=(10.0, 6.0), shared=True)


def numbers(result: Layered) -> tuple[str, Numbers]:
    return f"{result.queue:.1f} s  {result.way.name:17}", {
        "requests/s": result.rate,
        "recovers after, s": result.report.recovered,
        "recovers": result.report.recovered is not None,
    }


EXPERIMENT = Experiment(
    "How retries in nested layers multiply while the service at the bottom is down, and whether it "
    "recovers: compared with one layer, with and without a budget, and with a short and a long "
    "queue at the bottom.",
    layered,
    [
        Flag("layers", LAYERS, whole(1, 5), "the greatest number of layers"),
        Flag("clients", CLIENTS, whole(1, 10_000), "the number of clients; the bottom grows too"),
        Flag("outage", OUTAGE, whole(2, 3600), "the outage, whole seconds", "SECONDS"),
        Flag("watch", WATCH, whole(10, 3600), "whole seconds after it", "SECONDS"),
        Flag(
            "queue",
            QUEUES,
            number(0, 3600),
            "how long a request waits at the bottom if its queue is full",
            "SECONDS",
            "queues",
        ),
    ],
    row_by_row(row),
    picture,
    numbers,
)
