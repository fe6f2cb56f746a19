"""Experiment: submitters hand jobs to one scheduler, and share the file descriptors of a machine.

The job submission of "The Ethernet Approach to Grid Computing" (Thain and Livny, HPDC 2003). When
no descriptor is left the scheduler breaks down, and what everyone has half submitted is lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ...._words.failures import NotReady
from ...._words.nat import N20, Z
from ...._words.vocabulary import Delay
from ...._writing.attempts import Attempt, Do, attempt, do
from ...._writing.programs import Program, at
from ....schedules.kinds import Constant, Schedule
from ....schedules.published import fault_tolerant_shell
from ...outcomes import Outcome
from ...simulation import simulate
from .scheduler import FreeDescriptors, Scheduler, Submit

SUBMITTERS = (25, 100, 200, 300, 375, 400, 425, 450, 500)
SECONDS = 300
GIVE_WAY = 1000
"""The Ethernet submitter gives way while fewer descriptors are free."""
AT_ONCE = 1e-9  # seconds; who has submitted a job has the next one


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
