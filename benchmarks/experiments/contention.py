"""The simulation of "Exponential Backoff And Jitter" (Marc Brooker, AWS Architecture Blog, 2015).

Many clients update one row, once each, with five ways to wait after a conflict. A client reads the
row, and writes it with the version that it has read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from statistics import fmean
from typing import Annotated, NamedTuple

from ixbackoff import FOREVER, Constant, Do, Exponential, at, attempt
from ixbackoff._argument_parser import whole
from ixbackoff.fleet import simulate
from ixbackoff.schedules import Timing
from ixbackoff.schedules.shortening_jitter import DecorrelatedJitter, EqualJitter, FullJitter

from ..drawing import Panel, Picture, by_size
from .experiment import Cells, Experiment, Shown
from .services.row import Read, Row, Write

CLIENTS = (20, 40, 60, 80, 100)
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
    clients: int
    name: str
    calls: float  # the number of writes
    seconds: float  # the time at which the last client was done


@attempt
def update() -> Do[Read | Write, None]:
    version = yield from Read()
    yield from Write(version)


def contention(
    clients: Annotated[Iterable[int], whole(1, 1000), "the number of clients"] = CLIENTS,
    *,
    timings: Mapping[str, Timing] = TIMINGS,
    row: Row | None = None,
    seed: int = 0,
) -> list[Contention]:
    results: list[Contention] = []
    model = row or Row()
    for many, (name, timing) in product(clients, timings.items()):
        outcome = simulate(
            at(FOREVER).retry(update()),
            model.serves(Read) | model.serves(Write),
            clients=many,
            seconds=LONG_ENOUGH,
            schedule=timing,
            seed=seed,
        )
        asked = outcome.total(lambda second: second.asked)
        results.append(Contention(many, name, asked // 2, outcome.ended))  # a try reads and writes
    return results


def row(result: Contention) -> Cells:
    return {
        "waits": result.name,
        f"{result.clients} clients | calls": Shown(result.calls),
        f"{result.clients} clients | ms": Shown(result.seconds * 1000),
    }


def picture(results: Sequence[Contention]) -> Picture:
    calls = by_size((result.name, result.clients, result.calls) for result in results)
    times = by_size((result.name, result.clients, result.seconds) for result in results)
    panels = [
        Panel("calls, in all", calls, x="clients"),
        Panel("time until all are done, s", times, x="clients", scale="log"),
    ]
    headline = (
        f"{results[-1].clients} clients, one row: exponential waits without jitter "
        "take {exponential:.0f} s; no wait is fastest"
    )
    first, cap = f"{2000 * BASE:g} ms", f"{CAP:g} s"
    note = f"""Who loses a race for the row waits and calls again. none: waits 0 s.
exponential: waits {first}, doubled each time, up to {cap}. equal: at random, half of that or more.
full: at random, up to that. decorrelated: at random, up to 3 times the last wait, or {cap}."""
    return Picture(headline, [panels], (11.0, 4.8), note)


EXPERIMENT = Experiment(contention, row, picture, seeds=100, average=fmean)
