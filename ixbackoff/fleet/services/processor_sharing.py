"""`ProcessorSharing`: cores that all requests share, as threads of one server do."""

from __future__ import annotations

from dataclasses import dataclass

from ..._words.failure_classes import Throttled
from ..event_queue import Events
from .equal_speed_sharing import Sharing
from .service import Request, Service, Serving
from .work import Work, check_seconds, drawn


@dataclass(frozen=True)
class ProcessorSharing(Service):
    """Cores that all requests share: each of n requests progresses at the speed min(1, cores/n).

    A request that finds `limit` others fails immediately, with `Throttled`. During an outage
    requests stand still, or are slower. Requests that clients have abandoned are completed, too.

    >>> ProcessorSharing(work=0.1, cores=4).limit

    Attributes:
        work: the seconds of work for a request that is alone, or their distribution, such as
            `ExponentialWork(0.1)`.
        cores: the number of cores.
        limit: the greatest number of requests at a time; `None` for no limit.

    Raises:
        ValueError: `work` is negative or not finite, or `cores` or `limit` is less than 1.
    """

    work: Work
    cores: int = 1
    limit: int | None = None

    def __post_init__(self) -> None:
        if not callable(self.work):
            check_seconds(self, self.work)
        if self.cores < 1 or (self.limit is not None and self.limit < 1):
            raise ValueError(f"{self!r}: give 1 core or more, and a limit of 1 or more, or None.")

    def begin(self, events: Events) -> Serving:
        return _Cores(self, events)


class _Cores(Serving):
    def __init__(self, model: ProcessorSharing, events: Events) -> None:
        self.model = model
        self.events = events
        self.speed = 1.0
        self.working: Sharing[Request] = Sharing(events, self.speed_of_each, Request.answer)

    def speed_of_each(self, requests: int) -> float:
        return self.speed * min(1.0, self.model.cores / requests)

    def ask(self, request: Request) -> None:
        limit = self.model.limit
        if limit is not None and len(self.working) >= limit:
            request.fail(Throttled())
        else:
            self.working.begin(request, drawn(self.model.work, self.events.random))

    def set_speed(self, speed: float) -> None:
        self.speed = speed
        self.working.changed()

    def load(self) -> float:
        return len(self.working)
