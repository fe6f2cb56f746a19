"""`FittedService`: the service of a model in simulations, and the bands of their numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from math import nan
from operator import attrgetter
from pathlib import Path
from random import Random

from ..._words.failures import ServerError, Throttled
from ..event_queue import Events
from ..outcomes import Outcome
from ..samples import Sample, quantile
from ..services.processor import ProcessorSharing
from ..services.queue import BoundedQueue
from ..services.service import Forwarding, Request, Service, Serving
from .choosing import VERSION, Candidate, Model

ENDLESS = 10**9
Numbers = dict[str, float]


def saved_model(path: Path) -> Model:
    """Read a saved model; raise ValueError if the file has none, or one of another version."""
    found = json.loads(path.read_text())
    if not isinstance(found, dict) or found.get("version") != VERSION:
        raise ValueError(f"{path} was fitted by another version: fit again")
    return Model(**{**found, "near": [Candidate(*one) for one in found["near"]]})


class FittedService(Service):
    """The service of a model, with works that are drawn from resampled ones.

    `most` becomes the greatest number of requests that it held in a simulation.
    """

    def __init__(self, model: Model, candidate: int, seed: int, phases: bool = True) -> None:
        self.model, self.most, self.found = model, 0, model.near[candidate]
        works = self.found.works
        self.works = Random(seed).choices(works, k=len(works))  # noqa: S311
        self.phases = self.found.phases if phases else []

    def work(self, random: Random) -> float:
        return self.works[int(random.random() * len(self.works))]

    def begin(self, events: Events) -> Serving:
        workers = self.found.workers or ENDLESS
        queue = BoundedQueue(ENDLESS, self.work, workers)
        service = ProcessorSharing(self.work, workers) if self.found.kind == "ps" else queue
        serving = _Fitted(self, service.begin(events), events)
        for begin, end, factor in self.phases:
            events.at(begin, serving.set_speed, 1 / factor)
            events.at(end, serving.set_speed, 1.0)
        return serving


class _Fitted(Forwarding):
    def __init__(self, service: FittedService, behind: Serving, events: Events) -> None:
        super().__init__(behind)
        self.service, self.events = service, events

    def ask(self, request: Request) -> None:
        self.events.after(self.service.model.overhead, self.arrived, request)

    def arrived(self, request: Request) -> None:
        model, crowd = self.service.model, int(self.behind.load())
        full = model.limit is not None and crowd >= model.limit
        if full or self.events.random.random() < model.fails:
            asked = model.retry_after
            throttled = model.status == 429
            request.fail(Throttled(asked) if throttled else ServerError(model.status, asked))
        else:
            self.service.most = max(self.service.most, crowd + 1)
            self.behind.ask(request)


def numbers_of(asked: float, gave_up: float, latencies: Sequence[float], seconds: float) -> Numbers:
    """Return what a band is made of: of requests, failed runs, and seconds of the others."""
    well = len(latencies)
    return {
        "requests/s": asked / seconds,
        "goodput, runs/s": well / seconds,
        "failed runs, %": 100 * gave_up / max(1, well + gave_up),
        "p50 of runs, s": quantile(latencies or [nan], 0.5),
        "p99 of runs, s": quantile(latencies or [nan], 0.99),
    }


def numbers_between(outcome: Outcome, begin: int, end: int) -> Numbers:
    """Measure these seconds of a simulation: requests by their begins, runs by their ends."""
    first = sum(second.well for second in outcome.seconds[:begin])
    some = outcome.seconds[begin:end]
    asked, well, gave_up = (
        sum(map(attrgetter(name), some)) for name in ("asked", "well", "gave_up")
    )
    return numbers_of(asked, gave_up, outcome.latencies[first : first + well], end - begin)


def bands(samples: Iterable[Sample[Numbers]]) -> dict[str, tuple[float, float]]:
    """Return what 95 % of the seeds lie between, for all candidates of a model together."""
    found: dict[str, list[tuple[float, float]]] = {}
    for sample in samples:
        for name in sample.results[0]:
            values = [one[name] for one in sample.results if one[name] == one[name]] or [nan]
            found.setdefault(name, []).append((quantile(values, 0.025), quantile(values, 0.975)))
    return {name: (min(ends)[0], max(end for _, end in ends)) for name, ends in found.items()}
