"""A row of a database with optimistic concurrency: an outdated write fails."""

from __future__ import annotations

from dataclasses import dataclass

from ...._words.commands import Command
from ...._words.failures import Transient
from ...events import Events
from ...services import Request, Service, Serving


class Moved(Transient):
    """The row has changed since it was read."""


@dataclass(frozen=True)
class Read(Command[int]):
    """Read the row; the answer is its version."""


@dataclass(frozen=True)
class Write(Command[None]):
    """Write the row, if it still has this version.

    Attributes:
        version: the version that was read.
    """

    version: int


@dataclass(frozen=True)
class Row(Service):
    """The row of "Exponential Backoff And Jitter" (Marc Brooker, 2015), behind a network.

    >>> Row().latency
    0.01

    Attributes:
        latency: mean seconds of each way, to the row and back.
        deviation: their standard deviation; of a normal variate the absolute value is taken.
    """

    latency: float = 0.010
    deviation: float = 0.002

    def begin(self, events: Events) -> Serving:
        return _Row(self, events)


class _Row(Serving):
    def __init__(self, model: Row, events: Events) -> None:
        self.model = model
        self.events = events
        self.version = 0

    def ask(self, request: Request) -> None:
        self.events.after(self.way(), self.arrived, request)

    def arrived(self, request: Request) -> None:
        command = request.command
        if isinstance(command, Read):
            self.events.after(self.way(), self.read, (request, self.version))
        elif isinstance(command, Write) and command.version == self.version:
            self.version += 1
            self.events.after(self.way(), self.written, request)
        else:
            self.events.after(self.way(), self.moved, request)

    def read(self, answer: tuple[Request, int]) -> None:
        request, version = answer
        request.answer(version)

    def written(self, request: Request) -> None:
        request.answer()

    def moved(self, request: Request) -> None:
        request.fail(Moved())

    def way(self) -> float:
        return abs(self.events.random.normalvariate(self.model.latency, self.model.deviation))
