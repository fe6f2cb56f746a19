"""`SavedModel`: a fitted service in a file, and what a simulation of it measures."""

from __future__ import annotations

import json
from math import nan
from operator import attrgetter
from pathlib import Path
from random import Random
from typing import NamedTuple

from ..._words.failures import ServerError, Throttled
from ..event_queue import Events
from ..outcomes import Outcome
from ..samples import Sample, quantile
from ..services.processor import ProcessorSharing
from ..services.queue import BoundedQueue
from ..services.service import Forwarding, Request, Service, Serving
from .choosing import Phase

VERSION = 1
ENDLESS_QUEUE = 10**9
AT_ONCE = "at once"
"""The name of the most requests that the service held at one time."""


class SavedModel(NamedTuple):
    """A fit, as it is saved; times are seconds since the first arrival of the trace.

    Attributes:
        services: the discipline, the workers, the works and the slow phases of each candidate.
        limit: the crowd that refuses others; `None` if it is not known.
        seen: the greatest crowd in the trace.
        doubts: what speaks against this model.
    """

    services: list[tuple[str, int, list[float], list[Phase]]]
    limit: int | None
    overhead: float
    fails: float
    status: int
    retry_after: float | None
    seen: int
    arrivals: list[float]
    length: float
    doubts: list[str]
    version: int = VERSION

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(self._asdict()) + "\n")


def saved_model(text: str) -> SavedModel:
    """Read a file of `SavedModel.save`; raise ValueError if it is none, or of another version."""
    found = json.loads(Path(text).read_text())
    if not isinstance(found, dict) or found.get("version") != VERSION:
        raise ValueError(f"{text} was fitted by another version: fit again")
    return SavedModel(**found)


class FittedService(Service):
    """The service of a model: works are drawn from recovered ones, resampled for each seed.

    `most` becomes the greatest number of requests that it held in a simulation.
    """

    def __init__(self, model: SavedModel, number: int, seed: int, phases: bool = True) -> None:
        self.model, self.most = model, 0
        self.kind, self.workers, works, slow = model.services[number]
        self.works = Random(seed).choices(works, k=len(works))  # noqa: S311
        self.phases = slow if phases else []

    def begin(self, events: Events) -> Serving:
        works, many = self.works, len(self.works)

        def work(random: Random) -> float:
            return works[int(random.random() * many)]

        queue = BoundedQueue(ENDLESS_QUEUE, work, self.workers or ENDLESS_QUEUE)
        behind = ProcessorSharing(work, self.workers) if self.kind == "ps" else queue
        serving = _Fitted(self, behind.begin(events), events)
        for begin, end, factor in self.phases:
            events.at(max(0.0, begin), serving.set_speed, 1 / factor)
            events.at(max(0.0, end), serving.set_speed, 1.0)
        return serving


class _Fitted(Forwarding):
    def __init__(self, service: FittedService, behind: Serving, events: Events) -> None:
        super().__init__(behind)
        self.service, self.events = service, events

    def ask(self, request: Request) -> None:
        self.events.after(self.service.model.overhead, self.arrived, request)

    def arrived(self, request: Request) -> None:
        model, crowd = self.service.model, self.behind.load()
        full = model.limit is not None and crowd >= model.limit
        if full or self.events.random.random() < model.fails:
            throttled = model.status == 429
            asked = model.retry_after
            request.fail(Throttled(asked) if throttled else ServerError(model.status, asked))
        else:
            self.service.most = max(self.service.most, int(crowd) + 1)
            self.behind.ask(request)


def numbers_between(outcome: Outcome, begin: int, end: int) -> dict[str, float]:
    """Measure these seconds of a simulation: requests by their begins, runs by their ends."""
    well, gave_up, asked = (
        outcome.rate(attrgetter(name), begin, end) for name in ("well", "gave_up", "asked")
    )
    return {
        "requests/s": asked,
        "goodput, runs/s": well,
        "failed runs, %": 100 * gave_up / max(well + gave_up, 1e-9),
        "p50 of runs, s": outcome.quantile(0.5, begin, end),
        "p99 of runs, s": outcome.quantile(0.99, begin, end),
    }


def band(sample: Sample[dict[str, float]], name: str) -> tuple[float, float]:
    """Return what 95 % of the seeds lie between."""
    values = [one[name] for one in sample.results if one[name] == one[name]] or [nan]
    return quantile(values, 0.025), quantile(values, 0.975)
