"""Hedges in a fleet: the latency of many seeds, with and without copies, at several loads.

Replicas with a queue each; a request goes to a random one and takes 10 ms of it in the mean, and
one answer in a hundred stalls for half a second. Requests arrive at random. Run it with
`python -m benchmarks.hedging`; with `--cancels` a request that is given up leaves its queue, and
with `pictures FOLDER` the picture of `docs/hedges.md` is drawn.
"""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from ixbackoff import N0, Do, Hedge, Now, Repeatable, at, attempt, do
from ixbackoff._meaning.steps import DoStep
from ixbackoff._words.standard_commands import Together
from ixbackoff._writing.attempts import extended
from ixbackoff.fleet import Events, Request, Service, Serving, simulate

from .drawing import Graph, Panel, Picture, by_size, draw

SECONDS, WITHOUT = 12.0, 4.0  # seconds: a simulation, and its beginning, unmeasured
LIMIT = 2.0
LOADS = (0.2, 0.5, 0.7, 0.8, 0.9, 0.95, 1.05)
SEEDS = 40


@dataclass(frozen=True)
class Get(Repeatable[None]):
    """A request to the service."""


@dataclass(frozen=True)
class Replicas(Service):
    """Servers of which each does one request after the other."""

    replicas: int = 10
    work: float = 0.01
    stalls: float = 0.01
    stalled: float = 0.5
    cancels: bool = False

    def begin(self, events: Events) -> Serving:
        return ReplicasServing(self, events)


class ReplicasServing(Serving):
    def __init__(self, model: Replicas, events: Events) -> None:
        self.model, self.events = model, events
        self.queues: list[deque[Request]] = [deque() for _ in range(model.replicas)]
        self.busy = [False] * model.replicas

    def ask(self, request: Request) -> None:
        number = self.events.random.randrange(self.model.replicas)
        self.queues[number].append(request)
        self.serve(number)

    def serve(self, number: int) -> None:
        queue = self.queues[number]
        while queue and not self.busy[number]:
            request = queue.popleft()
            if not (self.model.cancels and request.over):
                self.busy[number] = True
                work = self.events.random.expovariate(1 / self.model.work)
                self.events.after(work, self.done, (number, request))

    def done(self, served: tuple[int, Request]) -> None:
        number, request = served
        self.busy[number] = False
        if self.events.random.random() < self.model.stalls:
            self.events.after(self.model.stalled, Request.answer, request)
        else:
            request.answer()
        self.serve(number)


class Unbounded:
    """A hedge as many libraries have it: a copy after a fixed time, without a bound."""

    def begin(self) -> float:
        return 0.04

    def copy(self, now: float) -> bool:  # noqa: ARG002
        return True

    def hear(self, *given: Any) -> None:
        pass


WAYS: dict[str, Callable[[], Any]] = {
    "no hedge": lambda: None,
    "after 40 ms, unbounded": Unbounded,
    "Hedge()": Hedge,
    "Hedge(extra=0.01)": lambda: Hedge(0.01),
    "Hedge(extra=0.25)": lambda: Hedge(0.25),
}


DRAWN = {
    "no hedge": "no hedge",
    "after 40 ms, unbounded": "unbounded",
    "Hedge()": "Hedge()",
    "Hedge(extra=0.01)": "extra=0.01",
}
"""The ways of the picture, and their names there."""


class Measured(NamedTuple):
    """The result of one simulation: seconds of latency, requests for each run, runs a second."""

    p50: float
    p99: float
    p999: float
    more: float
    well: float


def simulated(way: str, load: float, cancels: bool, seed: int) -> Measured:
    """Simulate one seed, in which requests arrive at `load` times the capacity."""
    service, hedge = Replicas(cancels=cancels), WAYS[way]()
    ask = (
        do(Get())
        if hedge is None
        else extended(None, DoStep(Together((do(Get()), do(Get())), True, hedge)))
    )
    took: list[float] = []

    @attempt
    def timed() -> Do[Get | Now, None]:
        begun = yield from Now()
        yield from ask
        end = yield from Now()
        if end > WITHOUT:
            took.append(end - begun)

    rate = load * service.replicas / service.work
    program = at(N0).do(timed().limit(LIMIT))
    outcome = simulate(program, service.serves(Get), arrivals=rate, seconds=SECONDS, seed=seed)
    took.sort()
    ended = outcome.total(lambda second: second.well + second.gave_up)
    more = outcome.total(lambda second: second.asked) / ended - 1
    well = outcome.rate(lambda second: second.well, int(WITHOUT), int(SECONDS))
    p50, p99, p999 = (
        took[int(len(took) * share)] if took else LIMIT for share in (0.5, 0.99, 0.999)
    )
    return Measured(p50, p99, p999, more, well)


def one(given: tuple[str, float, bool, int]) -> Measured:
    return simulated(*given)


def measured(cancels: bool) -> dict[tuple[str, float], Measured]:
    """Print and return the means of each way at each load."""
    means: dict[tuple[str, float], Measured] = {}
    with ProcessPoolExecutor(1) as pool:
        for load in LOADS:
            for way in WAYS:
                runs = [*pool.map(one, [(way, load, cancels, seed) for seed in range(SEEDS)])]
                means[way, load] = Measured(*map(mean, zip(*runs, strict=True)))
                row = {"load": load, "way": way, "cancels": cancels}
                print(json.dumps(row | means[way, load]._asdict()), flush=True)
    return means


def picture(means: Mapping[tuple[str, float], Measured]) -> Picture:
    """Return the median, the tail and the runs that succeed, over the load."""

    def lines(value: Callable[[Measured], float]) -> dict[str, Graph]:
        return by_size(
            (DRAWN[way], load, value(means[way, load])) for way in DRAWN for load in LOADS
        )

    x = "load, times the capacity"
    panels = [
        Panel("median of the latency, ms", lines(lambda of: 1000 * of.p50), x, scale="log"),
        Panel("p99 of the latency, ms", lines(lambda of: 1000 * of.p99), x, scale="log"),
        Panel("runs that succeed per second", lines(lambda of: of.well), x),
    ]
    headline = (
        "Hedges shorten the tail below the capacity, and harm near it; without a bound, "
        f"far below it (mean of {SEEDS} seeds)"
    )
    note = f"""Capacity: 1,000 requests/s; a run has {LIMIT:g} s. A hedge: a copy of a slow request.
unbounded: after 40 ms. Hedge(): if slower than 95 % of the last ones. extra=0.01: than 99 %."""
    return Picture(headline, [panels], (11.0, 4.5), note)


def main(words: list[str]) -> int:
    match words:
        case [] | ["--cancels"]:
            measured(bool(words))
        case ["pictures", folder]:
            draw(picture(measured(cancels=False)), "hedges", Path(folder))
        case _:
            usage = "usage: python -m benchmarks.hedging [--cancels | pictures FOLDER]"
            print(usage, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
