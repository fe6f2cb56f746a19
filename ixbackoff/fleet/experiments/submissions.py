"""Submitters hand jobs to one scheduler, and share the file descriptors of a machine.

The job submission of "The Ethernet Approach to Grid Computing" (Thain and Livny, HPDC 2003). When
no descriptor is left the scheduler crashes, and all half-submitted jobs are lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ixbackoff import (
    FOREVER,
    N0,
    Attempt,
    Constant,
    Delay,
    Do,
    NotReady,
    Program,
    at,
    attempt,
    do,
)
from ixbackoff.fleet import Outcome, Scheduler, simulate
from ixbackoff.fleet.services.scheduler import FreeDescriptors, Submit
from ixbackoff.schedules import Schedule
from ixbackoff.schedules.published import fault_tolerant_shell

from ..._commandline import whole
from ...plotting.styles import line_style
from ..drawing import Graph, Panel, Picture, by_second
from ..flags import Flag
from ..reports import Numbers
from .experiment import Cells, Experiment

SUBMITTERS = (25, 100, 200, 300, 375, 400, 425, 450, 500)
SECONDS = 300
GIVE_WAY = 1000
"""Free descriptors below which the Ethernet submitter gives way."""
AT_ONCE = 1e-9  # seconds; a submitter has the next job immediately
WATCHED = 400
"""The number of submitters whose descriptors are drawn over time, or the next one above it."""


unsensed: Attempt[Submit, None] = do(Submit())


@attempt
def sensed() -> Do[FreeDescriptors | Submit, None]:
    """Count the free descriptors before submitting, as the Ethernet submitter does."""
    free = yield from FreeDescriptors()
    if free < GIVE_WAY:
        raise NotReady(f"{free} descriptors are free")
    yield from Submit()


class Submitter(NamedTuple):
    """A kind of submitter.

    Attributes:
        program: the program for one job.
        schedule: its waits.
    """

    program: Program[FOREVER, N0, None, FreeDescriptors | Submit | Delay]
    schedule: Schedule


KINDS = {
    "fixed": Submitter(at(FOREVER).retry(unsensed), Constant(0.0)),
    "aloha": Submitter(at(FOREVER).retry(unsensed), fault_tolerant_shell),
    "ethernet": Submitter(at(FOREVER).retry(sensed()), fault_tolerant_shell),
}
"""The kinds of the paper: retry immediately; retry for 5 minutes with its shell's waits; the same,
but count the free descriptors first. Here they retry without end: the run lasts 5 minutes as well.
"""


class Submissions(NamedTuple):
    """The results of one kind of submitters.

    Attributes:
        submitters: the number of submitters.
        kind: the name of the kind.
        jobs: the jobs that the scheduler has taken.
        outcome: the simulation; its load is the descriptors in use.
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
    """Simulate each kind with each number of submitters, who submit one job after the other.

    >>> [(one.kind, one.jobs) for one in submissions([2], seconds=10)]
    [('fixed', 11), ('aloha', 11), ('ethernet', 11)]

    The other arguments are the flags of the command.

    Args:
        scheduler: a scheduler with other numbers.

    Raises:
        ValueError: a number of submitters, or `seconds`, is not above 0.
    """
    service = scheduler or Scheduler()
    return [submitted(many, kind, service, seconds, seed) for many in submitters for kind in KINDS]


def submitted(many: int, kind: str, scheduler: Scheduler, seconds: float, seed: int) -> Submissions:
    """Simulate one kind of submitters."""
    program, schedule = KINDS[kind]
    outcome = simulate(
        program,
        scheduler.serves(Submit) | scheduler.serves(FreeDescriptors),
        clients=many,
        seconds=seconds,
        schedule=schedule,
        think=AT_ONCE,
        seed=seed,
    )
    return Submissions(many, kind, int(outcome.total(lambda second: second.well)), outcome)


def rows(results: Sequence[Submissions]) -> list[Cells]:
    table: dict[int, dict[str, object]] = {}
    for one in results:
        table.setdefault(one.submitters, {"submitters": one.submitters})[one.kind] = one.jobs
    return [*table.values()]


def picture(results: Sequence[Submissions]) -> Picture:
    """Return the jobs over the number of submitters, and the descriptors in use over time."""
    every = [one.submitters for one in results]
    watched = min((many for many in every if many >= WATCHED), default=max(every))
    jobs: dict[str, Graph] = {}
    descriptors: dict[str, Graph] = {}
    for number, kind in enumerate(KINDS):
        some = [one for one in results if one.kind == kind]
        many = [one.submitters for one in some]
        jobs[kind] = Graph(many, [one.jobs for one in some], line_style(number))
        [shown] = [one for one in some if one.submitters == watched]
        descriptors[kind] = by_second([second.load for second in shown.outcome.seconds], number)
    panels = [
        Panel("jobs that were taken, in all", jobs, x="submitters", limits=(0, None)),
        Panel("descriptors in use", descriptors, x=f"time with {watched} submitters, s"),
    ]
    return Picture(
        "Submitters share a pool of descriptors: what happens when it is empty", [panels]
    )


def numbers(results: Sequence[Submissions]) -> Numbers:
    return {f"{one.submitters:10}  {one.kind:8}  jobs": one.jobs for one in results}


EXPERIMENT = Experiment(
    "submissions",
    'The job submission of "The Ethernet Approach to Grid Computing": the jobs that are taken from '
    "submitters that retry immediately (fixed), with exponential waits (aloha), and that count the "
    "free file descriptors before (ethernet).",
    submissions,
    [
        Flag("submitters", SUBMITTERS, whole(1, 10_000), "the number of submitters"),
        Flag("seconds", SECONDS, whole(1, 86_400), "the length of a simulation", "SECONDS"),
    ],
    rows,
    picture,
    numbers,
)
