"""The job submission of "The Ethernet Approach to Grid Computing" (Thain and Livny, HPDC 2003).

The number of jobs that the scheduler takes. Submitters retry immediately (fixed), with exponential
waits (aloha), or count the free file descriptors first (ethernet).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Annotated, NamedTuple

from ixbackoff import Do, NotReady, attempt
from ixbackoff._argument_parser import whole
from ixbackoff.fleet import Outcome

from ..drawing import Panel, Picture, by_second, by_size
from .ethernet import NOTE, ClientKind, kinds
from .experiment import Cells, Experiment
from .services.scheduler import FreeDescriptors, Scheduler, Submit

SUBMITTERS = (25, 100, 200, 300, 375, 400, 425, 450, 500)
GIVE_WAY = 1000  # free descriptors below which the Ethernet submitter gives way
WATCHED = 400
"""The picture shows descriptors over time with this number of submitters, or the next greater."""


@attempt
def sensed() -> Do[FreeDescriptors | Submit, None]:
    """Count the free descriptors before submitting, as the paper's Ethernet submitter does."""
    free = yield from FreeDescriptors()
    if free < GIVE_WAY:
        raise NotReady(f"{free} descriptors are free")
    yield from Submit()


KINDS: dict[str, ClientKind[FreeDescriptors | Submit]] = kinds(Submit(), Submit(), sensed())
"""The kinds of clients in the paper, where they retry for 5 minutes; here, until the end."""


class Submissions(NamedTuple):
    submitters: int
    kind: str
    jobs: int  # the number of jobs that the scheduler has taken
    outcome: Outcome  # the simulation; its load is the descriptors in use


def submissions(
    submitters: Annotated[Iterable[int], whole(1, 10_000), "the number of submitters"] = SUBMITTERS,
    *,
    seconds: Annotated[float, whole(1, 86_400), "the length of a simulation", "SECONDS"] = 300,
    scheduler: Scheduler | None = None,
    seed: int = 0,
) -> list[Submissions]:
    """Simulate each kind with each number of submitters, who submit one job after the other."""
    service = scheduler or Scheduler()
    services = service.serves(Submit) | service.serves(FreeDescriptors)
    results: list[Submissions] = []
    for many, (kind, clients) in product(submitters, KINDS.items()):
        outcome = clients.simulated(services, many, seconds, seed)
        jobs = int(outcome.total(lambda second: second.well))
        results.append(Submissions(many, kind, jobs, outcome))
    return results


def row(result: Submissions) -> Cells:
    return {"submitters": result.submitters, result.kind: result.jobs}


def picture(results: Sequence[Submissions]) -> Picture:
    sizes = [result.submitters for result in results]
    watched = min((many for many in sizes if many >= WATCHED), default=max(sizes))
    jobs = by_size((result.kind, result.submitters, result.jobs) for result in results)
    used = {
        result.kind: [second.load for second in result.outcome.seconds]
        for result in results
        if result.submitters == watched
    }
    every, seconds = Scheduler.descriptors, len(results[0].outcome.seconds)
    used |= {"none left": [every] * seconds, f"{GIVE_WAY:,} left": [every - GIVE_WAY] * seconds}
    panels = [
        Panel(f"jobs that were taken in {seconds} s", jobs, x="submitters", limits=(0, None)),
        Panel("descriptors in use", by_second(used), x=f"time with {watched} submitters, s"),
    ]
    headline = "When descriptors run out, submitters that look first go on as before"
    return Picture(headline, [panels], note=f"{NOTE}looks for {GIVE_WAY:,} free descriptors.")


EXPERIMENT = Experiment(submissions, row, picture)
