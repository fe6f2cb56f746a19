"""`FittedService`: the service of a model in simulations, and the numbers that it foretells."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from random import Random
from typing import Any

from ..._words.failure_classes import Throttled
from ..._words.rungs import N0
from ..._words.standard_commands import Download
from ..._writing.attempts import do
from ..._writing.programs import at
from ..event_queue import Events
from ..services.bounded_queue import BoundedQueue
from ..services.processor_sharing import ProcessorSharing
from ..services.service import Forwarding, Request, Service, Serving
from ..simulation import simulate
from ..simulation_outcome import Outcome
from .choosing import VERSION, Candidate, Model

ENDLESS = 10**9
BAND = 0.025  # a band is a range of results; this share of the seeds is below it, and above it


def saved_model(path: str) -> Model:
    """Read a model; raise ArgumentTypeError if the file `path` has none of this version."""
    try:
        found: Any = json.loads(Path(path).read_text())
        if found["version"] == VERSION:
            return Model([Candidate(*one) for one in found.pop("near")], **found)
    except OSError as error:
        raise ArgumentTypeError(str(error)) from None
    except (ValueError, TypeError, KeyError):
        pass
    raise ArgumentTypeError(f"{path} is not a model of this version: fit again")


@dataclass(frozen=True)
class FittedService(Service):
    """The service of a model: `seed` chooses a candidate, and resamples the candidate's work."""

    model: Model
    seed: int
    phases: bool = True

    def begin(self, events: Events) -> Serving:
        found = self.model.near[self.seed % len(self.model.near)]
        works = Random(self.seed).choices(found.works, k=len(found.works))  # noqa: S311

        def work(random: Random) -> float:
            return random.choice(works)

        workers = found.workers or ENDLESS
        queue = BoundedQueue(ENDLESS, work, workers)
        service = ProcessorSharing(work, workers) if found.kind == "ps" else queue
        serving = _Fitted(self.model, service.begin(events), events)
        for begin, end, factor in found.phases if self.phases else []:
            events.at(begin, serving.set_speed, 1 / factor)
            events.at(end, serving.set_speed, 1.0)
        return serving


class _Fitted(Forwarding):
    def __init__(self, model: Model, behind: Serving, events: Events) -> None:
        super().__init__(behind)
        self.model, self.events = model, events

    def ask(self, request: Request) -> None:
        self.events.after(self.model.overhead, self.arrived, request)

    def arrived(self, request: Request) -> None:
        full = self.model.limit is not None and self.load() >= self.model.limit
        if full or self.events.random.random() < self.model.fails:
            request.fail(Throttled(self.model.retry_after))
        else:
            self.behind.ask(request)


def replayed(model: Model, begun: Sequence[float], seconds: float, seed: int) -> Outcome:
    """Simulate the service with the tries of the trace, each as a run."""
    once, service = Download("", ""), FittedService(model, seed).serves(Download)
    asking: Any = do(once).limit(model.patience) if model.patience else once
    return simulate(at(N0).retry(asking), service, arrivals=begun, seconds=seconds, seed=seed)


def numbers_between(outcome: Outcome, begin: int, end: int) -> dict[str, float]:
    """Measure the requests that begin, and the runs that end, in the seconds `begin` to `end`."""
    asked, well, gave_up = (
        outcome.rate(attrgetter(name), begin, end) for name in ("asked", "well", "gave_up")
    )
    return {
        "requests/s": asked,
        "goodput/s": well,
        "failed, %": 100 * gave_up / (well + gave_up or 1),
        "p50, s": outcome.quantile(0.5, begin, end),
        "p99, s": outcome.quantile(0.99, begin, end),
    }
