"""Experiment: submitters hand jobs to one scheduler, and share the file descriptors of a machine.

The job submission of "The Ethernet Approach to Grid Computing" (Thain and Livny, HPDC 2003). When
no descriptor is left the scheduler breaks down, and what everyone has half submitted is lost.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from ..attempts import Attempt, Do, attempt, do
from ..commandline import Parser, whole
from ..commands import Command
from ..failures import NotReady, Transient
from ..nat import N20, Z
from ..programs import Program, at
from ..published import fault_tolerant_shell
from ..schedules import Constant, Schedule
from ..vocabulary import Delay
from .drawing import add_picture, pictured
from .events import Events
from .outcomes import Outcome
from .services import Request, Service, Serving
from .sharing import Sharing
from .simulation import simulate

SUBMITTERS = (25, 100, 200, 300, 375, 400, 425, 450, 500)
SECONDS = 300
GIVE_WAY = 1000
"""The Ethernet submitter gives way while fewer descriptors are free."""
AT_ONCE = 1e-9  # seconds; who has submitted a job has the next one


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
    """A scheduler, and the file descriptors that it shares with all who submit to it.

    A submitter takes its descriptors when it starts, connects, and waits until the scheduler has
    taken its job; the scheduler does a little for each in turn. Who finds too few left has found
    out that the scheduler has none either: it breaks down, and all who are connected fail.

    The descriptors and what a submitter takes of them are the paper's, and so is the time for one
    job, from 801 in 300 s. The restart is that of HTCondor's manual: 9 s, and 2^n s more after the
    n-th breakdown, n = 0, 1, ... The start, and how times spread, are assumed.

    >>> Scheduler().restart(0), Scheduler().restart(5)
    (10.0, 41.0)

    Attributes:
        descriptors: free at the start.
        taken: by one submitter.
        job: mean seconds for one job, if it is alone.
        start: mean seconds from its start until a submitter is connected.
        spread: these times are evenly 1 - spread to 1 + spread of their means.
        away: seconds that a scheduler that broke down is away at least.
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


unsensed: Attempt[Submit, None] = do(Submit())


@attempt
def sensed() -> Do[FreeDescriptors | Submit, None]:
    """Look before submitting: the Ethernet submitter."""
    free = yield from FreeDescriptors()
    if free < GIVE_WAY:
        raise NotReady(f"{free} descriptors are free")
    yield from Submit()


class Submitter(NamedTuple):
    """A way to submit.

    Attributes:
        program: for one job.
        schedule: its waits.
        within: the seconds that it tries.
    """

    program: Program[N20, Z, None, FreeDescriptors | Submit | Delay]
    schedule: Schedule
    within: float | None = None


KINDS = {
    "fixed": Submitter(at(N20).retry(unsensed), Constant(0.0)),
    "aloha": Submitter(at(N20).retry(unsensed), fault_tolerant_shell, within=300.0),
    "ethernet": Submitter(at(N20).retry(sensed()), fault_tolerant_shell, within=300.0),
}
"""The paper's: again at once, `try for 5 minutes`, and the same with a look before."""


class Submissions(NamedTuple):
    """What so many submitters of one kind come to.

    Attributes:
        submitters: how many.
        kind: its name.
        jobs: that were taken.
        outcome: the whole simulation; its load is the descriptors in use.
    """

    submitters: int
    kind: str
    jobs: int
    outcome: Outcome


def submissions(
    submitters: Iterable[int] = SUBMITTERS,
    *,
    seconds: float = SECONDS,
    scheduler: Scheduler | None = None,
    seed: int = 0,
) -> list[Submissions]:
    """Every kind, with so many submitters, each of which submits one job after the other.

    >>> [(one.kind, one.jobs) for one in submissions([2], seconds=10)]
    [('fixed', 11), ('aloha', 11), ('ethernet', 11)]

    Args:
        submitters: how many.
        seconds: how long.
        scheduler: with other numbers.
        seed: of the random numbers.

    Raises:
        ValueError: there are no submitters, or no seconds.
    """
    service = scheduler or Scheduler()
    return [submitted(many, kind, service, seconds, seed) for many in submitters for kind in KINDS]


def submitted(many: int, kind: str, scheduler: Scheduler, seconds: float, seed: int) -> Submissions:
    """So many submitters of one kind."""
    program, schedule, within = KINDS[kind]
    outcome = simulate(
        program,
        scheduler.serves(Submit) | scheduler.serves(FreeDescriptors),
        clients=many,
        seconds=seconds,
        schedule=schedule,
        within=within,
        think=AT_ONCE,
        persistent=True,
        seed=seed,
    )
    return Submissions(many, kind, int(outcome.total(lambda second: second.well)), outcome)


def table(results: Sequence[Submissions]) -> str:
    """What `submissions` came to, as text: the jobs that were taken.

    >>> print(table(submissions([2], seconds=10)))
    submitters   fixed   aloha  ethernet
             2      11      11        11
    """
    jobs = {(one.submitters, one.kind): one.jobs for one in results}
    lines = [
        f"{many:10}  {jobs[many, 'fixed']:6}  {jobs[many, 'aloha']:6}  {jobs[many, 'ethernet']:8}"
        for many in dict.fromkeys(one.submitters for one in results)
    ]
    return "\n".join(["submitters   fixed   aloha  ethernet", *lines])


def parsed(arguments: list[str] | None) -> Namespace:
    """The command line's words."""
    parser = Parser(
        prog="python -m ixbackoff.fleet submissions",
        description='The job submission of "The Ethernet Approach to Grid Computing": how many '
        "jobs are taken from submitters that try again at once (fixed), with exponential waits "
        "(aloha), and that also look first whether file descriptors are free (ethernet).",
        epilog="Exit status: 0, or 2 if the command is wrong.",
    )
    parser.add_argument(
        "--submitters",
        type=whole(1, 10_000),
        action="append",
        metavar="NUMBER",
        help="how many; can be given more than once (default: nine numbers, 25 to 500)",
    )
    parser.add_argument(
        "--seconds", type=whole(1, 86_400), default=SECONDS, help="(default: %(default)s)"
    )
    parser.add_argument(
        "--seed", type=whole(0, 2**32), default=0, help="of the random numbers (default: 0)"
    )
    add_picture(parser)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Print the table, and draw the picture if one is wanted; the exit status."""
    words = parsed(arguments)
    results = submissions(words.submitters or SUBMITTERS, seconds=words.seconds, seed=words.seed)
    print(table(results))
    if words.picture is None:
        return 0
    from .ethernet_pictures import draw_submissions

    return pictured(partial(draw_submissions, results), words.picture)


if __name__ == "__main__":
    sys.exit(main())
