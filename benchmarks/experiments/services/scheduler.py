"""`Scheduler`: a scheduler of jobs that shares file descriptors with its submitters."""

from __future__ import annotations

from dataclasses import dataclass

from ixbackoff import Command, Transient
from ixbackoff.fleet import Events, Request, Service, Serving, Sharing


class JobRefused(Transient):
    """The scheduler did not take the job."""


@dataclass(frozen=True)
class Submit(Command[None]):
    """Submit a job."""


@dataclass(frozen=True)
class FreeDescriptors(Command[int]):
    """Count the free file descriptors: the paper's carrier sensing."""


@dataclass(frozen=True)
class Scheduler(Service):
    """A scheduler of jobs, and the file descriptors that it shares with its submitters.

    A submitter allocates its descriptors when it starts, connects, and waits until the scheduler
    has taken its job; the scheduler works for all submitters at equal speed. If a submitter finds
    too few descriptors, the scheduler crashes, and all connected submitters fail.

    `descriptors`, `taken` and `job` (801 jobs in 300 s) are numbers of "The Ethernet Approach to
    Grid Computing" (Thain and Livny, HPDC 2003). A restart takes 9 s, and 2^n s more after the n-th
    crash, n = 0, 1, ..., at most 1 h, as in HTCondor's manual. `start` and `spread` are assumed.

    >>> Scheduler().restart(0), Scheduler().restart(5)
    (10.0, 41.0)

    Attributes:
        descriptors: the free descriptors at the start.
        taken: the descriptors of one submitter.
        job: the mean seconds of work for one job.
        start: the mean seconds from the start of a submitter until it is connected.
        spread: `job` and `start` vary uniformly, by factors from 1 - spread to 1 + spread.
        away: the seconds of a restart, without the 2^n s.
    """

    descriptors: int = 7545
    taken: int = 19
    job: float = 300 / 801
    start: float = 1.0
    spread: float = 0.5
    away: float = 9.0

    def restart(self, crashes: int) -> float:
        """Return the seconds that a restart takes after `crashes` earlier crashes."""
        return float(min(self.away + 2.0 ** min(crashes, 12), 3600.0))

    def begin(self, events: Events) -> Serving:
        return _Scheduler(self, events)


class _Scheduler(Serving):
    def __init__(self, model: Scheduler, events: Events) -> None:
        self.model = model
        self.events = events
        self.free = model.descriptors
        self.holding: set[Request] = set()
        self.connected: Sharing[Request] = Sharing(events, lambda many: 1 / many, self.accept)
        self.away = False
        self.crashes = 0

    def ask(self, request: Request) -> None:
        if isinstance(request.command, FreeDescriptors):
            request.answer(self.free)
            return
        if self.free >= self.model.taken:
            self.free -= self.model.taken
            self.holding.add(request)
        elif not self.away:
            self.crash()
        self.events.after(self.model.start * self.spread(), self.connect, request)

    def spread(self) -> float:
        return self.events.random.uniform(1.0 - self.model.spread, 1.0 + self.model.spread)

    def connect(self, request: Request) -> None:
        if request in self.holding and not self.away:
            self.connected.begin(request, self.model.job * self.spread())
        else:
            self.release(request)
            request.fail(JobRefused("the scheduler is away, or no descriptor was left"))

    def accept(self, request: Request) -> None:
        self.release(request)
        request.answer()

    def abandoned(self, request: Request) -> None:
        self.connected.leave(request)
        self.release(request)

    def release(self, request: Request) -> None:
        if request in self.holding:
            self.holding.remove(request)
            self.free += self.model.taken

    def crash(self) -> None:
        self.away = True
        self.events.after(self.model.restart(self.crashes), self.back)
        self.crashes += 1
        disconnected = self.connected.clear()
        for request in disconnected:
            self.release(request)
        for request in disconnected:
            request.fail(JobRefused("the scheduler crashed"))

    def back(self, _: object) -> None:
        self.away = False

    def load(self) -> float:
        return self.model.descriptors - self.free
