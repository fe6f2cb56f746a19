"""Job submission of "The Ethernet Approach to Grid Computing" (HPDC 2003): a pool of descriptors.

Submitters hand jobs to one scheduler. What they fight for is the machine's file descriptors: when
there are none left the scheduler breaks down, and takes everyone with it who is connected.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from ..attempts import Attempt, Do, attempt, do
from ..commands import Command
from ..failures import NotReady, Transient
from ..nat import N20, Z
from ..programs import Program, at
from ..schedules import Constant, Timing
from ..vocabulary import Delay
from .events import Events
from .services import Request, Service, Serving

GIVE_WAY = 1000
"""The Ethernet submitter gives way while fewer descriptors are free."""


class Refused(Transient):
    """The job was not taken."""


@dataclass(frozen=True)
class Submit(Command[None]):
    """Submit a job."""


@dataclass(frozen=True)
class FreeDescriptors(Command[int]):
    """How many file descriptors are free: the carrier."""


@dataclass(frozen=True)
class Scheduler(Service):
    """A scheduler that takes one job after the other, and the pool that everyone draws from.

    The paper has the pool, what a submitter takes of it and that the scheduler breaks down without;
    how long one job takes follows from its throughput at few submitters (801 jobs in 300 s). How
    long a broken scheduler is away it does not say.

    >>> Scheduler().descriptors
    7545

    Attributes:
        descriptors: free at the start.
        taken: by one submitter, while it is connected.
        needed: by the scheduler, to take a job.
        job: seconds for one job.
        restart: seconds until a scheduler that broke down is back.
    """

    descriptors: int = 7545
    taken: int = 19
    needed: int = 19
    job: float = 300 / 801
    restart: float = 5.0

    def begin(self, events: Events) -> Serving:
        return _Scheduler(self, events)


class _Scheduler(Serving):
    def __init__(self, model: Scheduler, events: Events) -> None:
        self.model = model
        self.events = events
        self.free = model.descriptors
        self.connected: deque[Request] = deque()
        self.working: Request | None = None
        self.broken = False

    def ask(self, request: Request) -> None:
        if isinstance(request.command, FreeDescriptors):
            request.answer(self.free)
        elif self.broken or self.free < self.model.taken:
            request.fail(Refused("the scheduler is away, or no descriptor is left"))
            if not self.broken:
                self.break_down()
        else:
            self.free -= self.model.taken
            self.connected.append(request)
            self.go_on()

    def abandoned(self, request: Request) -> None:
        if request in self.connected:
            self.connected.remove(request)
            self.free += self.model.taken

    def go_on(self) -> None:
        while self.connected and self.working is None and not self.broken:
            if self.free < self.model.needed:
                self.break_down()
                return
            self.free -= self.model.needed
            self.working = self.connected.popleft()
            self.events.after(self.model.job, self.done, self.working)

    def done(self, request: Request) -> None:
        if self.working is not request:
            return
        self.working = None
        self.free += self.model.taken + self.model.needed
        request.answer()
        self.go_on()

    def break_down(self) -> None:
        """Everyone who is connected is disconnected, and comes back."""
        self.broken = True
        disconnected = [*self.connected]
        if self.working is not None:
            disconnected.append(self.working)
        self.connected.clear()
        self.working = None
        self.free = self.model.descriptors
        self.events.after(self.model.restart, self.back)
        for request in disconnected:
            request.fail(Refused("the scheduler broke down"))

    def back(self, _: object) -> None:
        self.broken = False

    def load(self) -> float:
        return len(self.connected) + (self.working is not None)


@attempt
def sensed() -> Do[FreeDescriptors | Submit, None]:
    """Look before submitting: the Ethernet submitter."""
    free = yield from FreeDescriptors()
    if free < GIVE_WAY:
        raise NotReady(f"{free} descriptors are free")
    yield from Submit()


unsensed: Attempt[Submit, None] = do(Submit())
ETHERNET: Program[N20, Z, None, FreeDescriptors | Submit | Delay] = at(N20).retry(sensed())
ALOHA: Program[N20, Z, None, Submit | Delay] = at(N20).retry(unsensed)
AGAIN_AT_ONCE: Timing = Constant(0.05)
