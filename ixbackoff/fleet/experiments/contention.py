"""The simulation of "Exponential Backoff And Jitter" (Marc Brooker, AWS Architecture Blog, 2015).

Each client updates a row once: it reads the row, and writes it with the version that it has read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from ixbackoff import FOREVER, Constant, Do, Exponential, at, attempt
from ixbackoff.fleet import Row, simulate
from ixbackoff.fleet.services.row import Read, Write
from ixbackoff.schedules import Timing
from ixbackoff.schedules.shortening import DecorrelatedJitter, EqualJitter, FullJitter

from ..._argument_parser import Flag, whole
from ..drawing import Panel, Picture, by_size
from .experiment import Cells, Experiment, with_seeds

CLIENTS = (20, 40, 60, 80, 100)
SEEDS = 100
LONG_ENOUGH = 86_400.0  # seconds: more than any client needs
BASE, CAP = 0.005, 2.0
TIMINGS: dict[str, Timing] = {
    "none": Constant(0.0),
    "exponential": Exponential(2 * BASE, 2.0, cap=CAP),
    "decorrelated": DecorrelatedJitter(BASE, CAP),
    "equal": EqualJitter(BASE, CAP),
    "full": FullJitter(BASE, CAP),
}
"""The variants. The first wait of `exponential` is twice `BASE`, 10 ms."""


class Contention(NamedTuple):
    """The results of one variant: means over the seeds."""

    clients: int
    name: str
    calls: float  # the number of writes
    seconds: float  # the time at which the last client was done


@attempt
def update() -> Do[Read | Write, None]:
    version = yield from Read()
    yield from Write(version)


def contention(
    clients: Iterable[int] = CLIENTS,
    *,
    timings: Mapping[str, Timing] = TIMINGS,
    seeds: int = SEEDS,
    row: Row | None = None,
    seed: int = 0,
    jobs: int | None = None,
) -> list[Contention]:
    """Simulate each variant with each number of clients, with `seeds` seeds from `seed` on."""
    kinds = [(many, name) for many in clients for name in timings]
    given = [(timings[name], many, row or Row()) for many, name in kinds]
    sampled = with_seeds(updated, given, range(seed, seed + seeds), jobs)
    return [
        Contention(many, name, *map(fmean, zip(*updates, strict=True)))
        for (many, name), updates in zip(kinds, sampled, strict=True)
    ]


def updated(timing: Timing, clients: int, row: Row, seed: int) -> tuple[float, float]:
    """Return the number of writes, and the second at which the last client was done."""
    outcome = simulate(
        at(FOREVER).retry(update()),
        row.serves(Read) | row.serves(Write),
        clients=clients,
        seconds=LONG_ENOUGH,
        schedule=timing,
        seed=seed,
    )
    asked = int(outcome.total(lambda second: second.asked))
    return asked // 2, outcome.ended  # a try reads and writes


def rows(results: Sequence[Contention]) -> list[Cells]:
    table: dict[str, dict[str, object]] = {}
    for clients, name, calls, seconds in results:
        row = table.setdefault(name, {"waits": name})
        row[f"{clients} clients | calls"] = f"{calls:.0f}"
        row[f"{clients} clients | ms"] = f"{seconds * 1000:.0f}"
    return [*table.values()]


def picture(results: Sequence[Contention]) -> Picture:
    calls = by_size((result.name, result.clients, result.calls) for result in results)
    times = by_size((result.name, result.clients, result.seconds) for result in results)
    panels = [
        Panel("calls, in all", calls, x="clients"),
        Panel("time until all are done, s", times, x="clients", scale="log"),
    ]
    return Picture("Clients that update one row: fewer calls, or done sooner", [panels], legend=5)


EXPERIMENT = Experiment(
    'The simulation of "Exponential Backoff And Jitter": many clients update one row, once each, '
    "with optimistic concurrency, and with five ways to wait after a conflict.",
    contention,
    [Flag("clients", CLIENTS, whole(1, 1000), "the number of clients")],
    rows,
    picture,
    seeds=SEEDS,
)
