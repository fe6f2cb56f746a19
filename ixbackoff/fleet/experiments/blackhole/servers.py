"""Servers that do one thing at a time, and black holes, which never answer."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from ...._words.commands import Command
from ...events import Events
from ...services import Request, Service, Serving


@dataclass(frozen=True)
class Fetch(Command[None]):
    """Fetch the whole file.

    Attributes:
        server: the number of the server.
    """

    server: int


@dataclass(frozen=True)
class Probe(Command[None]):
    """Fetch one byte, to see whether the server answers at all."""

    server: int


@dataclass(frozen=True)
class SingleThreaded(Service):
    """Servers that do one thing at a time, in order; a black hole accepts and never answers.

    That a probe takes 10 ms is assumed; the rest is the paper's.

    >>> SingleThreaded().black_holes
    (0,)

    Attributes:
        servers: the number of servers.
        black_holes: the numbers of those that never answer.
        transfer: seconds of a fetch.
        probe: seconds of a probe.
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
            self.go_on(server)

    def abandoned(self, request: Request) -> None:
        server = _server(request)
        if self.working[server] is request:
            self.working[server] = None
            self.go_on(server)

    def go_on(self, server: int) -> None:
        waiting = self.waiting[server]
        while waiting and self.working[server] is None:
            request = waiting.popleft()
            if not request.over:
                self.working[server] = request
                seconds = (
                    self.model.probe if isinstance(request.command, Probe) else self.model.transfer
                )
                self.events.after(seconds, self.done, request)

    def done(self, request: Request) -> None:
        server = _server(request)
        if self.working[server] is request:
            self.working[server] = None
            request.answer()
            self.go_on(server)

    def load(self) -> float:
        return sum(map(len, self.waiting)) + sum(one is not None for one in self.working)


def _server(request: Request) -> int:
    command = request.command
    return command.server if isinstance(command, Fetch | Probe) else 0
