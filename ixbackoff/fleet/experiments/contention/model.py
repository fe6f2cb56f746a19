"""Many clients update one row, with every kind of jitter.

The simulation of "Exponential Backoff And Jitter" (Marc Brooker, AWS Architecture Blog, 2015): each
client updates the row once, by a read and a write of the version that it read; one that comes too
late reads again. With so many conflicts it counts how often clients write in vain, and when the
last one is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import NamedTuple

from ...._words.nat import FOREVER
from ...._writing.attempts import Do, attempt
from ...._writing.programs import at
from ....schedules.kinds import Constant, Exponential, Timing
from ....schedules.shortening import DecorrelatedJitter, EqualJitter, FullJitter
from ...seeds import each_seed
from ...simulation import simulate
from .row import Read, Row, Write

CLIENTS = (20, 40, 60, 80, 100)
SEEDS = 100
LONG_ENOUGH = 86_400.0  # seconds; all clients are done long before
BASE, CAP = 0.005, 2.0
TIMINGS: dict[str, Timing] = {
    "none": Constant(0.0),
    "exponential": Exponential(2 * BASE, 2.0, cap=CAP),
    "decorrelated": DecorrelatedJitter(BASE, CAP),
    "equal": EqualJitter(BASE, CAP),
    "full": FullJitter(BASE, CAP),
}
"""The variants: base 5 ms, cap 2 s, and n = 1 at the first wait, so that `exponential` begins with
10 ms; only the first two never shorten a wait.
"""


class Contention(NamedTuple):
    """The results of one variant: means over some seeds.

    Attributes:
        clients: the number of clients.
        name: the name of the variant.
        calls: the number of writes.
        seconds: when the last client was done.
    """

    clients: int
    name: str
    calls: float
    seconds: float


@attempt
def update() -> Do[Read | Write, None]:
    """Read, and write what was read."""
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
    """Simulate each variant, with each number of clients.

    >>> [variant.name for variant in contention([2], seeds=1)]
    ['none', 'exponential', 'decorrelated', 'equal', 'full']

    Args:
        clients: numbers of clients.
        timings: the variants, by their names.
        seeds: how many seeds.
        row: a row behind another network.
        seed: the first of the seeds.
        jobs: processes for many seeds, as in `each_seed`.

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
        Contention(many, name, fmean(one.writes for one in some), fmean(one.last for one in some))
        for (many, name), some in zip(kinds, zip(*sample.results, strict=True), strict=True)
    ]


class Updated(NamedTuple):
    """The results of one variant with one seed.

    Attributes:
        writes: the number of writes.
        last: when the last client was done, seconds.
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
