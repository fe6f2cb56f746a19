"""`BoundedQueue`: workers and a queue that rejects requests when it is full."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from ..._words.failure_classes import Throttled
from ..event_queue import Events
from .service import Request, Service, Serving
from .work import Work, check_seconds, drawn


@dataclass(frozen=True)
class BoundedQueue(Service):
    """Workers and a queue; a request that finds the queue full fails immediately, with `Throttled`.

    >>> BoundedQueue(length=10, work=0.1).workers
    1

    During an outage workers are slower; or they pause, and new requests are queued or rejected.
    Workers also complete requests that clients have abandoned.

    Attributes:
        length: the length of the queue, without the requests in work.
        work: the seconds of work for one request, or their distribution, such as
            `ExponentialWork(0.1)`.
        workers: the number of requests in work at a time.

    Raises:
        ValueError: `work` or `length` is negative, `work` is not finite, or `workers` is below 1.
    """

    length: int
    work: Work
    workers: int = 1

    def __post_init__(self) -> None:
        if not callable(self.work):
            check_seconds(self, self.work)
        if not (self.length >= 0 and self.workers >= 1):
            raise ValueError(f"{self!r}: give a length of 0 or more and 1 worker or more.")

    def begin(self, events: Events) -> Serving:
        return _Queue(self, events)


class _Queue(Serving):
    def __init__(self, model: BoundedQueue, events: Events) -> None:
        self.model = model
        self.events = events
        self.waiting: deque[Request] = deque()
        # The end of each request in work; while workers pause, its remaining seconds of work.
        self.ends: dict[Request, float] = {}
        self.speed = 1.0

    def ask(self, request: Request) -> None:
        if len(self.ends) < self.model.workers and self.speed:
            self.begin_work(request)
        elif len(self.waiting) < self.model.length:
            self.waiting.append(request)
        else:
            request.fail(Throttled())

    def begin_work(self, request: Request) -> None:
        self.work(request, drawn(self.model.work, self.events.random))

    def work(self, request: Request, seconds: float) -> None:
        if self.speed:
            seconds /= self.speed
            self.ends[request] = self.events.now + seconds
            self.events.after(seconds, self.worked, request)
        else:
            self.ends[request] = seconds

    def worked(self, request: Request) -> None:
        if self.speed and self.ends.get(request) == self.events.now:
            del self.ends[request]
            request.answer()
            self.start_work()

    def start_work(self) -> None:
        while self.waiting and len(self.ends) < self.model.workers and self.speed:
            self.begin_work(self.waiting.popleft())

    def set_speed(self, speed: float) -> None:
        now, before = self.events.now, self.speed
        left = {one: (end - now) * before if before else end for one, end in self.ends.items()}
        self.speed = speed
        for request, seconds in left.items():
            self.work(request, seconds)
        self.start_work()

    def load(self) -> float:
        return len(self.ends) + len(self.waiting)
