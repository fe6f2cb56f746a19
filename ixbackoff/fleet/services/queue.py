"""`BoundedQueue`: workers and a queue that rejects requests when it is full."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import inf

from ..._words.failures import Throttled
from ..event_queue import Events
from .service import Request, Service, Serving


@dataclass(frozen=True)
class BoundedQueue(Service):
    """Workers and a queue; a request that finds the queue full fails immediately, with `Throttled`.

    >>> BoundedQueue(length=10, work=0.1).workers
    1

    During an outage the workers pause, and new requests are queued or rejected. Workers also
    complete requests that clients have abandoned.

    Attributes:
        length: the length of the queue, without the requests in work.
        work: the seconds of work for one request.
        workers: the number of requests in work at a time.

    Raises:
        ValueError: a number is negative or not finite, or `workers` is less than 1.
    """

    length: int
    work: float
    workers: int = 1

    def __post_init__(self) -> None:
        if not (self.length >= 0 and 0 <= self.work < inf and self.workers >= 1):
            raise ValueError(
                f"{self!r}: give a length of 0 or more, seconds of 0 or more and 1 worker or more."
            )

    def begin(self, events: Events) -> Serving:
        return _Queue(self, events)


class _Queue(Serving):
    def __init__(self, model: BoundedQueue, events: Events) -> None:
        self.model = model
        self.events = events
        self.waiting: deque[Request] = deque()
        # The end of work of each request; during an outage, its remaining seconds of work.
        self.ends: dict[Request, float] = {}
        self.stopped = False

    def ask(self, request: Request) -> None:
        if len(self.ends) < self.model.workers and not self.stopped:
            self.work(request, self.model.work)
        elif len(self.waiting) < self.model.length:
            self.waiting.append(request)
        else:
            request.fail(Throttled())

    def work(self, request: Request, seconds: float) -> None:
        self.ends[request] = self.events.now + seconds
        self.events.after(seconds, self.worked, request)

    def worked(self, request: Request) -> None:
        if not self.stopped and self.ends.get(request) == self.events.now:
            del self.ends[request]
            request.answer()
            self.start_work()

    def start_work(self) -> None:
        while self.waiting and len(self.ends) < self.model.workers and not self.stopped:
            self.work(self.waiting.popleft(), self.model.work)

    def stop(self) -> None:
        self.stopped = True
        self.ends = {request: end - self.events.now for request, end in self.ends.items()}

    def resume(self) -> None:
        self.stopped = False
        for request, left in self.ends.items():
            self.work(request, left)
        self.start_work()

    def load(self) -> float:
        return len(self.ends) + len(self.waiting)
