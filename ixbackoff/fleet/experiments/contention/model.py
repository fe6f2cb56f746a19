"""Many clients update one row, with every kind of jitter.

The simulation of "Exponential Backoff And Jitter" (Marc Brooker, AWS Architecture Blog, 2015): each
client updates the row once, by a read and a write of the version that it read; one that comes too
late reads again. With so many conflicts it counts how often clients write in vain, and when the
last one is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ...._words.nat import FOREVER
from ...._writing.attempts import Do, attempt
from ...._writing.programs import at
from ....schedules.kinds import Constant, Exponential, Timing
from ....schedules.shortening import DecorrelatedJitter, EqualJitter, FullJitter
from ...simulation import simulate
from .row import Read, Row, Write

CLIENTS = (20, 40, 60, 80, 100)
TRIALS = 100
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
    """The results of one variant: means of some trials.

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
    trials: int = TRIALS,
    row: Row | None = None,
    seed: int = 0,
) -> list[Contention]:
    """Simulate each variant, with each number of clients.

    >>> [variant.name for variant in contention([2], trials=1)]
    ['none', 'exponential', 'decorrelated', 'equal', 'full']

    Args:
        clients: numbers of clients.
        timings: the variants, by their names.
        trials: the number of trials, each with other random numbers.
        row: a row behind another network.
        seed: the seed of the random numbers.

    Raises:
        ValueError: a number of clients, or of trials, is not above 0.
    """
    if trials < 1:
        raise ValueError(f"trials={trials!r}: give a number, 1 or more.")
    model = row or Row()
    return [
        measured(name, timing, many, trials, model, seed)
        for many in clients
        for name, timing in timings.items()
    ]


def measured(
    name: str, timing: Timing, clients: int, trials: int, row: Row, seed: int
) -> Contention:
    """Simulate one variant; the means of its trials."""
    writes, last = 0, 0.0
    services = row.serves(Read) | row.serves(Write)
    updating = at(FOREVER).retry(update())
    for trial in range(trials):
        outcome = simulate(
            updating,
            services,
            clients=clients,
            seconds=LONG_ENOUGH,
            schedule=timing,
            seed=seed + trial,
        )
        writes += int(outcome.total(lambda second: second.asked)) // 2  # a try reads and writes
        last += outcome.ended
    return Contention(clients, name, writes / trials, last / trials)
