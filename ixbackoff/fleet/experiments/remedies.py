"""The server of the `crash` experiment, with remedies at its clients or with a shorter queue.

The clients are divided evenly among processes. The clients of a process share its budget and its
circuit breaker.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from operator import attrgetter
from statistics import median
from typing import Any, NamedTuple

from ixbackoff import N3, CircuitBreaker, RetryBudget, at, do
from ixbackoff.fleet import Outage, Outcome, SlowingServer, simulate

from ..._argument_parser import Flag, whole
from ..drawing import Panel, Picture, by_second
from .crash import (
    BACKLOG,
    BACKLOGS,
    CLIENTS,
    LINGERING,
    OUTAGE,
    STEADY,
    THINK,
    TIMEOUT,
    Get,
    asking,
    backoffs,
    last_rate,
    recovers,
)
from .experiment import Cells, Experiment, grouped, row_by_row, shared, with_seeds

WATCH = 60
SEEDS = 3


class Remedy(NamedTuple):
    """A remedy, with waits of the crash experiment: a budget or a breaker for each process."""

    name: str
    waits: str  # the name of the waits: "fixed" or "exponential"
    processes: int = 1
    budget: bool = False
    breaker: bool = False
    ends: bool = False  # whether a client ends its run after three waits, and thinks again


REMEDIES = (
    Remedy("nothing", "fixed"),
    Remedy("nothing", "exponential"),
    Remedy("three waits", "exponential", ends=True),
    Remedy("10 budgets", "exponential", 10, budget=True),
    Remedy("10 breakers", "fixed", 10, breaker=True),
    Remedy("10 breakers", "exponential", 10, breaker=True),
    Remedy("100 breakers", "exponential", 100, breaker=True),
)


class Remedied(NamedTuple):
    """The results of one remedy with one accept queue: medians over the seeds."""

    remedy: Remedy
    backlog: int
    asked: float  # the requests per second in the last five seconds of the outage
    after: float  # the concurrent requests one second after the outage
    last: float  # the answered requests per second in the last quarter of the time after the outage
    gave_up: float
    back: int  # the number of seeds with which 90 % of the requests were answered in that quarter
    seeds: int
    stopped: Outage
    outcome: Outcome  # the simulation with the first seed


def remedied(
    outage: int = OUTAGE,
    *,
    backlogs: Iterable[int] = BACKLOGS,
    clients: int = CLIENTS,
    watch: int = WATCH,
    seeds: int = SEEDS,
    seed: int = 0,
    jobs: int | None = None,
) -> list[Remedied]:
    """Simulate each remedy with each accept queue, with `seeds` seeds from `seed` on."""
    kinds = [(remedy, backlog) for backlog in backlogs for remedy in REMEDIES]
    given = [(*kind, clients, outage, watch) for kind in kinds]
    sampled = with_seeds(simulated, given, range(seed, seed + seeds), jobs)
    return [
        summed_up(remedy, backlog, Outage(STEADY, outage), outcomes)
        for (remedy, backlog), outcomes in zip(kinds, sampled, strict=True)
    ]


def simulated(
    remedy: Remedy, backlog: int, clients: int, outage: int, watch: int, seed: int
) -> Outcome:
    processes = min(remedy.processes, clients)
    failures = max(2, 20 // remedy.processes)  # fewer for fewer clients
    breaker = partial(CircuitBreaker, failures=failures, within=5.0, open_for=5.0)
    program: Any = at(N3).retry(do(Get()).limit(TIMEOUT)) if remedy.ends else asking()
    return simulate(
        program,
        SlowingServer(backlog=backlog, lingering=LINGERING).serves(Get),
        clients=clients,
        seconds=STEADY + outage + watch,
        schedule=backoffs()[remedy.waits],
        think=THINK,
        budget=shared(RetryBudget.grpc, processes) if remedy.budget else None,
        breaker=shared(breaker, processes) if remedy.breaker else None,
        outages=[Outage(STEADY, outage)],
        seed=seed,
    )


def summed_up(
    remedy: Remedy, backlog: int, stopped: Outage, outcomes: Sequence[Outcome]
) -> Remedied:
    end = int(stopped.start + stopped.length)
    watched = [outcome.seconds[end:] for outcome in outcomes]
    answered = [[second.answered for second in seconds] for seconds in watched]
    failed = [[second.failed for second in seconds] for seconds in watched]
    return Remedied(
        remedy=remedy,
        backlog=backlog,
        asked=median(each.rate(lambda second: second.asked, end - 5, end) for each in outcomes),
        after=median(seconds[0].load for seconds in watched),
        last=median(map(last_rate, answered)),
        gave_up=median(each.total(lambda second: second.gave_up) for each in outcomes),
        back=sum(map(recovers, answered, failed)),
        seeds=len(outcomes),
        stopped=stopped,
        outcome=outcomes[0],
    )


def row(result: Remedied) -> Cells:
    return {
        "queue": result.backlog,
        "waits": result.remedy.waits,
        "remedy": result.remedy.name,
        "asked/s": f"{result.asked:.1f}",
        "after 1 s": f"{result.after:.0f}",
        "end/s": f"{result.last:.1f}",
        "gave up": f"{result.gave_up:.0f}",
        "comes back": f"{result.back} of {result.seeds}",
    }


def picture(results: Sequence[Remedied]) -> Picture:
    panels: list[Panel] = []
    stopped = "the server is stopped", results[0].stopped.span
    for backlog, some in grouped(results, attrgetter("backlog")).items():
        loads = {
            f"{result.remedy.waits}, {result.remedy.name}": [
                second.load for second in result.outcome.seconds
            ]
            for result in some
        }
        lines, title = by_second(loads), f"accept queue {backlog}"
        panels.append(Panel("requests at once", lines, title=title, scale="symlog", outage=stopped))
    headline = "Remedies that save the server: a short queue, or circuit breakers"
    return Picture(headline, [panels], inches=(10.0, 5.0), shared=True)


EXPERIMENT = Experiment(
    "Whether the server of the crash experiment recovers after an outage: with each remedy, and "
    "with accept queues of two lengths.",
    remedied,
    [
        Flag("outage", OUTAGE, whole(1, 86_400), "the outage, whole seconds", "SECONDS"),
        Flag("watch", WATCH, whole(4, 86_400), "whole seconds after it", "SECONDS"),
        Flag("clients", CLIENTS, whole(1, 100_000), "the number of clients"),
        BACKLOG,
    ],
    row_by_row(row),
    picture,
    seeds=SEEDS,
)
