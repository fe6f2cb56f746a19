"""The black hole of "The Ethernet Approach to Grid Computing" (HPDC 2003): servers that are read.

Three readers fetch large files from three single-threaded servers, one of which accepts every
connection and never answers.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from ..attempts import Attempt, Do, attempt, do, first_of
from ..commands import Command
from ..nat import N20, Z
from ..programs import Program, at
from ..published import fault_tolerant_shell
from ..vocabulary import Delay, Now, Pick
from .events import Events
from .outcomes import Outcome
from .services import Request, Service, Serving
from .simulation import simulate


@dataclass(frozen=True)
class Fetch(Command[None]):
    """The whole file.

    Attributes:
        server: from which server.
    """

    server: int


@dataclass(frozen=True)
class Probe(Command[None]):
    """One byte, to see whether the server answers at all."""

    server: int


@dataclass(frozen=True)
class SingleThreaded(Service):
    """Servers that do one thing at a time; the rest waits its turn, and a black hole never answers.

    >>> SingleThreaded().black_holes
    (0,)

    Attributes:
        servers: how many.
        black_holes: which of them accept and never answer.
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


def aloha(server: int) -> Attempt[Fetch | Now, None]:
    """Fetch, for at most 60 s."""
    return do(Fetch(server)).limit(60)


@attempt
def ethernet(server: int) -> Do[Probe | Fetch | Now, None]:
    """The same, behind a probe of at most 5 s: sense the carrier."""
    yield from do(Probe(server)).limit(5)
    yield from do(Fetch(server)).limit(60)


def black_hole(seconds: float = 900.0, seed: int = 0) -> dict[str, Outcome]:
    """What the readers get in so much time: those that look first, and those that do not.

    >>> outcomes = black_hole(seconds=100)
    >>> reads = {name: sum(second.well for second in outcomes[name].seconds) for name in outcomes}
    >>> reads["ethernet"] > reads["aloha"]
    True
    """
    return {
        name: simulate(
            reader,
            served,
            clients=3,
            seconds=seconds,
            schedule=fault_tolerant_shell,
            within=seconds,
            think=0.001,
            seed=seed,
        )
        for name, reader in {"aloha": ALOHA, "ethernet": ETHERNET}.items()
    }


served = (servers := SingleThreaded()).serves(Fetch) | servers.serves(Probe)

ALOHA: Program[N20, Z, object, Fetch | Now | Pick | Delay] = at(N20).retry(
    first_of([aloha(server) for server in range(3)])
)
ETHERNET: Program[N20, Z, object, Probe | Fetch | Now | Pick | Delay] = at(N20).retry(
    first_of([ethernet(server) for server in range(3)])
)
