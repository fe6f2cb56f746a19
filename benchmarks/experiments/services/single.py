"""`SingleThreaded`: servers that serve one request at a time, or, as black holes, none."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from ixbackoff import Command
from ixbackoff.fleet import Events, Request, Service, Serving


@dataclass(frozen=True)
class FetchFile(Command[None]):
    """Fetch a whole file from the server with the number `server`."""

    server: int


@dataclass(frozen=True)
class Probe(Command[None]):
    """Fetch one byte, to check that the server with the number `server` answers."""

    server: int


@dataclass(frozen=True)
class SingleThreaded(Service):
    """Servers that serve one request at a time, in order; a black hole accepts and never answers.

    The numbers are those of "The Ethernet Approach to Grid Computing" (Thain and Livny, HPDC 2003),
    but the 10 ms of a probe are an assumption.

    >>> SingleThreaded().black_holes
    (0,)

    Attributes:
        servers: the number of servers.
        black_holes: the numbers of the servers that never answer.
        transfer: the seconds of a fetch.
        probe: the seconds of a probe.
    """

    servers: int = 3
    black_holes: tuple[int, ...] = (0,)
    transfer: float = 10.0
    probe: float = 0.01

    def begin(self, events: Events) -> Serving:
        return _Servers(self, events)


class _Servers(Serving):
    def __init__(self, model: SingleThreaded, events: Events) -> None:
        self.model = model
        self.events = events
        self.waiting: list[deque[Request]] = [deque() for _ in range(model.servers)]
        self.working: list[Request | None] = [None] * model.servers

    def ask(self, request: Request) -> None:
        server = _server(request)
        if server not in self.model.black_holes:
            self.waiting[server].append(request)
            self.serve_next(server)

    def abandoned(self, request: Request) -> None:
        server = _server(request)
        if self.working[server] is request:
            self.working[server] = None
            self.serve_next(server)

    def serve_next(self, server: int) -> None:
        waiting = self.waiting[server]
        while waiting and self.working[server] is None:
            request = waiting.popleft()
            if not request.over:
                self.working[server] = request
                probes = isinstance(request.command, Probe)
                seconds = self.model.probe if probes else self.model.transfer
                self.events.after(seconds, self.done, request)

    def done(self, request: Request) -> None:
        server = _server(request)
        if self.working[server] is request:
            self.working[server] = None
            request.answer()
            self.serve_next(server)

    def load(self) -> float:
        return sum(map(len, self.waiting)) + sum(one is not None for one in self.working)


def _server(request: Request) -> int:
    command = request.command
    return command.server if isinstance(command, FetchFile | Probe) else 0
