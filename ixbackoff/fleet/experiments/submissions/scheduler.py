"""A scheduler of jobs, and the file descriptors that it shares with its submitters."""

from __future__ import annotations

from dataclasses import dataclass

from ...._words.commands import Command
from ...._words.failures import Transient
from ...events import Events
from ...services import Request, Service, Serving
from ...sharing import Sharing


class Refused(Transient):
    """The job was not taken."""


@dataclass(frozen=True)
class Submit(Command[None]):
    """Submit a job."""


@dataclass(frozen=True)
class FreeDescriptors(Command[int]):
    """Count the free file descriptors: sense the carrier."""


@dataclass(frozen=True)
class Scheduler(Service):
    """A scheduler, and the file descriptors that it shares with its submitters.

    A submitter takes its descriptors when it starts, connects, and waits until the scheduler has
    taken its job; the scheduler works for all in turn. When a submitter finds too few descriptors,
    so does the scheduler: it breaks down, and all connected submitters fail.

    The number of descriptors and those of a submitter are the paper's, and so is the time for one
    job, from 801 in 300 s. The restart is that of HTCondor's manual: 9 s, and 2^n s more after the
    n-th breakdown, n = 0, 1, ... The start and the spread of times are assumed.

    >>> Scheduler().restart(0), Scheduler().restart(5)
    (10.0, 41.0)

    Attributes:
        descriptors: free descriptors at the start.
        taken: descriptors that one submitter takes.
        job: mean seconds for one job, if it is alone.
        start: mean seconds from its start until a submitter is connected.
        spread: these times are evenly 1 - spread to 1 + spread of their means.
        away: the least seconds that the scheduler is away after a breakdown.
    """

    descriptors: int = 7545
    taken: int = 19
    job: float = 300 / 801
    start: float = 1.0
    spread: float = 0.5
    away: float = 9.0

    def restart(self, breakdowns: int) -> float:
        """Seconds until it is back, after so many breakdowns before this one."""
        return float(min(self.away + 2.0 ** min(breakdowns, 12), 3600.0))

    def begin(self, events: Events) -> Serving:
        return _Scheduler(self, events)


class _Scheduler(Serving):
    def __init__(self, model: Scheduler, events: Events) -> None:
        self.model = model
        self.events = events
        self.free = model.descriptors
        self.holding: set[Request] = set()
        self.connected: Sharing[Request] = Sharing(events, lambda many: 1 / many, self.taken)
        self.broken = False
        self.breakdowns = 0

    def ask(self, request: Request) -> None:
        if isinstance(request.command, FreeDescriptors):
            request.answer(self.free)
            return
        if self.free >= self.model.taken:
            self.free -= self.model.taken
            self.holding.add(request)
        elif not self.broken:
            self.break_down()
        self.events.after(self.model.start * self.some(), self.connect, request)

    def some(self) -> float:
        return self.events.random.uniform(1.0 - self.model.spread, 1.0 + self.model.spread)

    def connect(self, request: Request) -> None:
        if request in self.holding and not self.broken:
            self.connected.begin(request, self.model.job * self.some())
        else:
            self.let_go(request)
            request.fail(Refused("the scheduler is away, or no descriptor was left"))

    def taken(self, request: Request) -> None:
        self.let_go(request)
        request.answer()

    def abandoned(self, request: Request) -> None:
        self.connected.leave(request)
        self.let_go(request)

    def let_go(self, request: Request) -> None:
        if request in self.holding:
            self.holding.remove(request)
            self.free += self.model.taken

    def break_down(self) -> None:
        self.broken = True
        self.events.after(self.model.restart(self.breakdowns), self.back)
        self.breakdowns += 1
        disconnected = self.connected.clear()
        for request in disconnected:
            self.let_go(request)
        for request in disconnected:
            request.fail(Refused("the scheduler broke down"))

    def back(self, _: object) -> None:
        self.broken = False

    def load(self) -> float:
        return self.model.descriptors - self.free
