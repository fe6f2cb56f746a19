"""`Row`: a row of a database with optimistic concurrency, where a stale write fails."""

from __future__ import annotations

from dataclasses import dataclass

from ixbackoff import Command, Transient
from ixbackoff.fleet import Events, Request, Service, Serving


class Moved(Transient):
    """A write failed because the row has changed since it was read."""


@dataclass(frozen=True)
class Read(Command[int]):
    """Read the row; the answer is the row's version."""


@dataclass(frozen=True)
class Write(Command[None]):
    """Write the row if its version is still `version`, which the client has read."""

    version: int


@dataclass(frozen=True)
class Row(Service):
    """The row of "Exponential Backoff And Jitter" (Marc Brooker, 2015), behind a network.

    >>> Row().latency
    0.01

    Attributes:
        latency: the mean seconds from the client to the row, and from the row to the client.
        deviation: the standard deviation of the latency; a negative latency is made positive.
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
        self.events.after(self.one_way(), self.arrived, request)

    def arrived(self, request: Request) -> None:
        command, way_back = request.command, self.one_way()
        if isinstance(command, Read):
            self.events.after(way_back, request.answer, self.version)
        elif isinstance(command, Write) and command.version == self.version:
            self.version += 1
            self.events.after(way_back, request.answer)
        else:
            self.events.after(way_back, request.fail, Moved())

    def one_way(self) -> float:
        return abs(self.events.random.normalvariate(self.model.latency, self.model.deviation))
