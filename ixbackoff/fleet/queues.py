"""Servers with a queue: what comes when it is full is refused at once."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import inf

from .._words.failures import Throttled
from .events import Events
from .services import Request, Service, Serving


@dataclass(frozen=True)
class BoundedQueue(Service):
    """So many workers, and a queue of so many requests; what finds it full is `Throttled` at once.

    >>> BoundedQueue(length=10, work=0.1).workers
    1

    While it is stopped nothing is worked on, what is begun included, and what comes waits or is
    refused. Requests that nobody waits for any more are worked on all the same.

    Attributes:
        length: how many requests wait at most, beside those that are worked on.
        work: seconds of work for one request.
        workers: how many are worked on at the same time.

    Raises:
        ValueError: one of them is negative, there is no worker, or no number of seconds.
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
        self.ends: dict[Request, float] = {}  # of what is worked on; while stopped, what is left
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
            self.go_on()

    def go_on(self) -> None:
        while self.waiting and len(self.ends) < self.model.workers and not self.stopped:
            self.work(self.waiting.popleft(), self.model.work)

    def stop(self) -> None:
        self.stopped = True
        self.ends = {request: end - self.events.now for request, end in self.ends.items()}

    def resume(self) -> None:
        self.stopped = False
        for request, left in self.ends.items():
            self.work(request, left)
        self.go_on()

    def load(self) -> float:
        return len(self.ends) + len(self.waiting)
