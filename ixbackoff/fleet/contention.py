"""Experiment: many clients update one row, with every kind of jitter.

The simulation of "Exponential Backoff And Jitter" (Marc Brooker, AWS Architecture Blog, 2015): each
client updates the row once, by a read and a write of the version that it read; one that comes too
late reads again. With so many conflicts what counts is how often they write in vain, and how long
the last one needs.
"""

from __future__ import annotations

from typing import NamedTuple

from ..attempts import Attempt, Do, attempt
from ..nat import N20
from ..programs import at
from ..schedules import Constant, Exponential, Timing
from ..shortening import DecorrelatedJitter, EqualJitter, FullJitter
from .rows import Read, Row, Write
from .simulation import simulate

TIMINGS: dict[str, Timing] = {
    "none": Constant(0.0),
    "exponential": Exponential(0.010, 2.0, cap=2.0),
    "decorrelated": DecorrelatedJitter(base=0.005, cap=2.0),
    "equal": EqualJitter(base=0.005, cap=2.0),
    "full": FullJitter(base=0.005, cap=2.0),
}
"""The variants: base 5 ms, cap 2 s; only the first two never shorten a wait."""


class Contention(NamedTuple):
    """What one variant comes to, in the mean of some trials.

    Attributes:
        name: of the variant.
        calls: how many writes there were.
        seconds: when the last client was done.
    """

    name: str
    calls: float
    seconds: float


@attempt
def update() -> Do[Read | Write, None]:
    """Read, and write what was read."""
    version = yield from Read()
    yield from Write(version)


def contention(clients: int, trials: int = 100, seed: int = 0) -> list[Contention]:
    """Every variant with so many clients.

    >>> [variant.name for variant in contention(clients=2, trials=1)]
    ['none', 'exponential', 'decorrelated', 'equal', 'full']
    """
    return [measured(name, timing, clients, trials, seed) for name, timing in TIMINGS.items()]


def measured(name: str, timing: Timing, clients: int, trials: int, seed: int) -> Contention:
    """The mean of some trials of one variant."""
    writes, last = 0, 0.0
    row = Row()
    services = row.serves(Read) | row.serves(Write)
    tried: Attempt[Read | Write, None] = update()
    for trial in range(trials):
        outcome = simulate(
            at(N20).retry(tried),
            services,
            clients=clients,
            seconds=LONG_ENOUGH,
            schedule=timing,
            persistent=True,
            seed=seed + trial,
        )
        # Each try reads and writes once.
        writes += int(outcome.total(lambda second: second.asked)) // 2
        last += outcome.ended
    return Contention(name, writes / trials, last / trials)


LONG_ENOUGH = 3600.0
