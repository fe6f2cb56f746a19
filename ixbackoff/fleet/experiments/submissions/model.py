"""Submitters hand jobs to one scheduler, and share the file descriptors of a machine.

The job submission of "The Ethernet Approach to Grid Computing" (Thain and Livny, HPDC 2003). When
no descriptor is left the scheduler breaks down, and all half-submitted jobs are lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ...._words.failures import NotReady
from ...._words.nat import FOREVER, Forever, Z
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
"""Free descriptors below which the Ethernet submitter gives way."""
AT_ONCE = 1e-9  # seconds; a submitter has the next job at once


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
    """

    program: Program[Forever, Z, None, FreeDescriptors | Submit | Delay]
    schedule: Schedule


KINDS = {
    "fixed": Submitter(at(FOREVER).retry(unsensed), Constant(0.0)),
    "aloha": Submitter(at(FOREVER).retry(unsensed), fault_tolerant_shell),
    "ethernet": Submitter(at(FOREVER).retry(sensed()), fault_tolerant_shell),
}
"""The paper's: again at once, `try for 5 minutes`, and the same with a look before. Here they try
until the job is taken: in the 300 s of the run that is the same.
"""


class Submissions(NamedTuple):
    """The results of one kind of submitters.

    Attributes:
        submitters: the number of submitters.
        kind: the name of the kind.
        jobs: the jobs that were taken.
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
    """Simulate each kind, with each number of submitters, who submit one job after the other.

    >>> [(one.kind, one.jobs) for one in submissions([2], seconds=10)]
    [('fixed', 11), ('aloha', 11), ('ethernet', 11)]

    Args:
        submitters: numbers of submitters.
        seconds: how long they submit.
        scheduler: a scheduler with other numbers.
        seed: the seed of the random numbers.

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
