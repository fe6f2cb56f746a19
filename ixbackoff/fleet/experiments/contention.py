"""Many clients update one row, with every kind of jitter.

The simulation of "Exponential Backoff And Jitter" (Marc Brooker, AWS Architecture Blog, 2015). Each
client updates the row once: it reads the row and writes it with the version that it has read; if
the row has changed meanwhile, the write fails, and the client reads again. The experiment counts
the writes, and measures the time until the last client is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import NamedTuple

from ixbackoff import FOREVER, Constant, Do, Exponential, at, attempt
from ixbackoff.fleet import Row, each_seed, simulate
from ixbackoff.fleet.services.row import Read, Write
from ixbackoff.schedules import Timing
from ixbackoff.schedules.shortening import DecorrelatedJitter, EqualJitter, FullJitter

from ..._commandline import whole
from ...plotting.styles import line_style
from ..drawing import Graph, Panel, Picture
from ..flags import Flag
from .experiment import Cells, Experiment

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
"""The variants: base 5 ms, cap 2 s, and n = 1 at the first wait, so that `exponential` begins with
10 ms. Only the first two never shorten a wait.
"""


class Contention(NamedTuple):
    """The results of one variant: means over the seeds.

    Attributes:
        clients: the number of clients.
        name: the name of the variant.
        calls: the number of writes.
        seconds: the time at which the last client was done.
    """

    clients: int
    name: str
    calls: float
    seconds: float


@attempt
def update() -> Do[Read | Write, None]:
    """Read the row, and write it."""
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
    """Simulate each variant with each number of clients.

    >>> [variant.name for variant in contention([2], seeds=1)]
    ['none', 'exponential', 'decorrelated', 'equal', 'full']

    The other arguments are the flags of the command; `seeds` counts from `seed` on.

    Args:
        timings: the variants by their names.
        row: a row with other latencies.

    Raises:
        ValueError: a number of clients, or of seeds, is not above 0.
    """
    kinds = [(many, name) for many in clients for name in timings]
    sample = each_seed(
        partial(all_updated, [(many, timings[name]) for many, name in kinds], row or Row()),
        range(seed, seed + seeds),
        jobs=jobs,
    )
    return [
        Contention(many, name, fmean(u.writes for u in updates), fmean(u.last for u in updates))
        for (many, name), updates in zip(kinds, zip(*sample.results, strict=True), strict=True)
    ]


class Updated(NamedTuple):
    """The results of one variant with one seed.

    Attributes:
        writes: the number of writes.
        last: the time at which the last client was done, seconds.
    """

    writes: int
    last: float


def all_updated(kinds: Sequence[tuple[int, Timing]], row: Row, seed: int) -> list[Updated]:
    """Simulate each number of clients and variant with one seed."""
    return [updated(timing, clients, row, seed) for clients, timing in kinds]


def updated(timing: Timing, clients: int, row: Row, seed: int) -> Updated:
    """Simulate one variant with one seed."""
    outcome = simulate(
        at(FOREVER).retry(update()),
        row.serves(Read) | row.serves(Write),
        clients=clients,
        seconds=LONG_ENOUGH,
        schedule=timing,
        seed=seed,
    )
    asked = int(outcome.total(lambda second: second.asked))
    return Updated(asked // 2, outcome.ended)  # a try reads and writes


def rows(results: Sequence[Contention]) -> list[Cells]:
    table: dict[str, dict[str, object]] = {}
    for result in results:
        row = table.setdefault(result.name, {"waits": result.name})
        row[f"{result.clients} clients | calls"] = f"{result.calls:.0f}"
        row[f"{result.clients} clients | ms"] = f"{result.seconds * 1000:.0f}"
    return [*table.values()]


def picture(results: Sequence[Contention]) -> Picture:
    """Return a picture of calls and times, over the number of clients."""
    calls: dict[str, Graph] = {}
    times: dict[str, Graph] = {}
    for number, name in enumerate(dict.fromkeys(result.name for result in results)):
        some = [result for result in results if result.name == name]
        many, style = [result.clients for result in some], line_style(number)
        calls[name] = Graph(many, [result.calls for result in some], style)
        times[name] = Graph(many, [result.seconds for result in some], style)
    panels = [
        Panel("calls, in all", calls, x="clients"),
        Panel("time until all are done, s", times, x="clients", scale="log"),
    ]
    return Picture("Clients that update one row: fewer calls, or done sooner", [panels], legend=5)


EXPERIMENT = Experiment(
    "contention",
    'The simulation of "Exponential Backoff And Jitter": many clients update one row, once each, '
    "with optimistic concurrency, and with five ways to wait after a conflict.",
    contention,
    [Flag("clients", CLIENTS, whole(1, 1000), "the number of clients")],
    rows,
    picture,
    seeds=SEEDS,
)
