"""How often clients ask a service that is down, and whether it recovers.

The clients have one circuit breaker for all, one for each process, a budget, or their ladders only.
The service has workers and a queue, which fills with abandoned requests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, NamedTuple

from ixbackoff import N6, CircuitBreaker, Exponential, RetryBudget, at, do
from ixbackoff._argument_parser import whole
from ixbackoff.fleet import BoundedQueue, Metered, Outage, simulate
from ixbackoff.schedules import Schedule

from ..drawing import Picture, grid
from .experiment import Ask, Cells, Experiment, Watched, recovery_cells, shared

LIMIT = 2.0  # seconds that a client waits for an answer
SCHEDULE: Schedule = Exponential(1.0, cap=10.0).jittered()
THINK = 50.0
WORK = 0.1  # seconds for a request
SHARE = 250  # clients per worker, who keep the worker busy for half of the time
QUEUE = 5  # places for each worker
OPEN_FOR = (2.0, 10.0)
STEADY = 20
OPENING = 10  # seconds of the outage after which the breakers are open

ASKING = at(N6).retry(do(Ask()).limit(LIMIT))


class Protection(NamedTuple):
    name: str
    breakers: int = 0  # each is shared by equally many clients
    open_for: float = 0.0
    budget: Callable[[], RetryBudget] | None = None  # makes the budget that all clients share

    def most(self, seconds: float) -> int | None:
        """Return the greatest number of probes in an outage; `None` without a breaker."""
        return int(self.breakers * seconds // self.open_for) if self.breakers else None


def protections(processes: int) -> list[Protection]:
    short, long = OPEN_FOR
    return [
        Protection("no limit"),
        Protection("budget, grpc", budget=RetryBudget.grpc),
        Protection(f"one breaker, open {short:g} s", 1, short),
        Protection(f"one breaker, open {long:g} s", 1, long),
        Protection(f"{processes} breakers, open {short:g} s", processes, short),
    ]


class Protected(NamedTuple):
    way: Protection
    asked: tuple[int, ...]  # the requests at the service in each second
    down: int  # the requests in the outage after its first ten seconds, in which breakers open
    watched: Watched


def protected(
    *,
    clients: Annotated[
        int, whole(1, 100_000), "the number of clients; the service grows too"
    ] = 5000,
    processes: Annotated[int, whole(1, 10_000), "the number of breakers in the last row"] = 100,
    outage: Annotated[int, whole(OPENING + 1, 3600), "the outage, whole seconds", "SECONDS"] = 30,
    watch: Annotated[int, whole(10, 3600), "whole seconds after the outage", "SECONDS"] = 90,
    seed: int = 0,
) -> list[Protected]:
    """Simulate each protection.

    >>> results = protected(clients=500, processes=5, outage=30, watch=10)
    >>> [result.down <= result.way.most(20) for result in results if result.way.breakers]
    [True, True, True]
    """
    return [simulated(way, clients, outage, watch, seed) for way in protections(processes)]


def simulated(way: Protection, clients: int, outage: int, watch: int, seed: int) -> Protected:
    workers = max(1, clients // SHARE)
    service = Metered(BoundedQueue(QUEUE * workers, WORK, workers))
    end = STEADY + outage
    failures = max(1, 20 // max(1, way.breakers))  # fewer for fewer clients
    breaker = partial(CircuitBreaker, failures=failures, within=10.0, open_for=way.open_for)
    outcome = simulate(
        ASKING,
        service.serves(Ask),
        clients=clients,
        seconds=end + watch,
        schedule=SCHEDULE,
        think=THINK,
        budget=way.budget and shared(way.budget),
        breaker=shared(breaker, way.breakers) if way.breakers else None,
        outages=[Outage(STEADY, outage)],
        seed=seed,
    )
    asked = tuple(service.asked[second] for second in range(end + watch))
    return Protected(
        way=way,
        asked=asked,
        down=sum(asked[STEADY + OPENING : end]),
        watched=Watched(outcome, Outage(STEADY, outage)),
    )


def row(result: Protected) -> Cells:
    start, end = map(int, result.watched.stopped.span)
    most = result.way.most(end - start - OPENING)
    return {
        "clients": result.way.name,
        "asked while down | in all": sum(result.asked[start:end]),
        "asked while down | then": result.down,
        "asked while down | probes": "-" if most is None else most,
        **recovery_cells(result.watched),
        "runs that | gave up": int(result.watched.outcome.total(lambda second: second.gave_up)),
    }


def picture(results: Sequence[Protected]) -> Picture:
    return grid(
        "Circuit breakers keep requests from a service that is down",
        {"": {result.way.name: (result.asked, result.watched.well) for result in results}},
        {"requests per second": "symlog", "runs that end well per second": "linear"},
        ("the service is down", results[0].watched.stopped.span),
        "no limit: neither budget nor breaker. breakers: each has an equal share of clients.\n"
        "budget, grpc: a retry budget with the numbers of gRPC; its failed runs are not shown.\n"
        "Rates above 100 after the outage: runs that waited end, too.",
    )


EXPERIMENT = Experiment(protected, row, picture)
