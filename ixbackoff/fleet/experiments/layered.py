"""Retries in nested layers multiply; one layer with a budget does not.

A retry inside a retry is a type error, but a type checker does not see across services. Here each
layer is a server that retries its requests to the next layer, during an outage of the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ixbackoff import N0, N2, Command, Delay, Exponential, Now, Program, RetryBudget, at, do
from ixbackoff.fleet import BoundedQueue, Layer, Metered, Outage, Outcome, Service, simulate
from ixbackoff.schedules import Schedule

from ..._argument_parser import Flag, number, whole
from ..drawing import Panel, Picture, by_second
from ..reports import Numbers
from .experiment import Cells, Experiment, recovery_cells, row_by_row

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
    more: Callable[[float], float] | None = None  # from the requests/s to the most it sends on

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


def grpc(rate: float) -> float:
    """Return the requests per second with `RetryBudget.grpc`: no retries in an outage."""
    return rate


def layerings(layers: int = LAYERS) -> list[Layering]:
    """Return 1 to `layers` layers without budgets, and some with budgets."""
    bare = [Layering(f"{count} layer{'s'[: count - 1]}", count) for count in range(1, layers + 1)]
    return [
        *bare,
        Layering("1 layer, finagle", 1, RetryBudget.finagle, finagle),
        Layering("1 layer, grpc", 1, RetryBudget.grpc, grpc),
        Layering(f"{bare[-1].name}, finagle", layers, RetryBudget.finagle, finagle),
    ]


class Layered(NamedTuple):
    way: Layering
    queue: float  # the seconds that a request waits at the bottom if the queue is full
    clients: int
    asked: tuple[int, ...]  # the requests at the bottom in each second
    runs: float  # the runs of the clients that ended per second, in the second half of the outage
    rate: float  # the requests at the bottom per second, in the second half of the outage
    before: float  # the runs that succeeded per second before the outage
    last: float  # the runs that succeeded per second in the last quarter after the outage
    recovered: float | None  # the seconds from the end of the outage to the recovery, if any
    stopped: Outage
    outcome: Outcome  # the simulation as the clients saw it


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


def row(result: Layered) -> Cells:
    asked, runs = result.way.asked(result.clients), result.way.runs(result.clients)
    return {
        "queue": f"{result.queue:3.1f} s",
        "retries": result.way.name,
        "requests per run | closed": f"{asked / runs:.1f}",
        "requests per run | simul.": f"{result.rate / result.runs:.1f}" if result.runs else "-",
        "requests/s | closed": f"{asked:.0f}",
        "requests/s | simul.": f"{result.rate:.0f}",
        **recovery_cells(result.before, result.last, result.recovered),
    }


def picture(results: Sequence[Layered]) -> Picture:
    asked: list[Panel] = []
    well: list[Panel] = []
    for queue in dict.fromkeys(result.queue for result in results):
        some = [*enumerate(result for result in results if result.queue == queue)]
        requests = {result.way.name: by_second(result.asked, n) for n, result in some}
        runs = {
            result.way.name: by_second([second.well for second in result.outcome.seconds], n)
            for n, result in some
        }
        title = f"a full queue at the bottom is a wait of {queue:g} s"
        down = "the service is down", results[0].stopped.span
        asked.append(
            Panel("requests/s at the bottom", requests, title=title, scale="symlog", outage=down)
        )
        well.append(Panel("runs/s that end well", runs, outage=down))
    return Picture(
        "Retries in layers multiply: requests at the bottom, runs that end well",
        [asked, well],
        inches=(10.0, 6.0),
        shared=True,
    )


def numbers(result: Layered) -> tuple[str, Numbers]:
    return f"{result.queue:.1f} s  {result.way.name:17}", {
        "requests/s": result.rate,
        "recovers after, s": result.recovered,
        "recovers": result.recovered is not None,
    }


EXPERIMENT = Experiment(
    "layered",
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
