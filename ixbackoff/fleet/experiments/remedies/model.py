"""The server of the crash, after an outage, with remedies at its clients and a shorter queue.

The clients live in processes, as many in each. Those of a process share its budget and its circuit
breaker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from statistics import median
from typing import Any, NamedTuple, TypeVar

from ...._limits.breakers import CircuitBreaker
from ...._limits.budgets import RetryBudget
from ...._words.nat import FOREVER, N3
from ...._writing.attempts import do
from ...._writing.programs import at
from ...outcomes import Outcome
from ...seeds import each_seed
from ...simulation import Outage, simulate
from ...slowing import SlowingServer
from ..crash.clients import CLIENTS, LINGERING, THINK, TIMEOUT, Get, backoffs
from ..crash.verdicts import recovers

T = TypeVar("T")

BACKLOGS = (128, 4096)
STEADY = 15
OUTAGE = 20
WATCH = 60
SEEDS = 3
FAILURES = 20
WITHIN = 5.0
REST = 5.0

WITHOUT_END = at(FOREVER).retry(do(Get()).limit(TIMEOUT))
THREE_WAITS = at(N3).retry(do(Get()).limit(TIMEOUT))


class Remedy(NamedTuple):
    """A way to save the server.

    Attributes:
        name: its name.
        waits: the waits of the post that it goes with: "fixed" or "exponential".
        processes: how many have a budget or a circuit breaker of their own.
        budget: whether each process has a budget.
        breaker: whether each process has a circuit breaker.
        ends: whether a client gives up after three waits, and thinks again.
    """

    name: str
    waits: str
    processes: int = 1
    budget: bool = False
    breaker: bool = False
    ends: bool = False

    def failures(self) -> int:
        """The failures that open one of its breakers: the fewer, the fewer clients it has.

        >>> Remedy("few", "fixed", 1).failures(), Remedy("many", "fixed", 100).failures()
        (20, 2)
        """
        return max(2, FAILURES // self.processes)


REMEDIES = (
    Remedy("nothing", "fixed"),
    Remedy("nothing", "exponential"),
    Remedy("three waits", "exponential", ends=True),
    Remedy("10 budgets", "exponential", 10, budget=True),
    Remedy("10 breakers", "fixed", 10, breaker=True),
    Remedy("10 breakers", "exponential", 10, breaker=True),
    Remedy("100 breakers", "exponential", 100, breaker=True),
)


class Remedied(NamedTuple):
    """The results of one remedy, with one accept queue.

    Attributes:
        remedy: the remedy.
        backlog: the length of the accept queue.
        asked: requests per second in the last five seconds of the outage.
        after: requests at once, one second after it; the median of the seeds, as the others.
        last: requests that were answered per second, in the last quarter of the time after it.
        gave_up: runs that ended with a failure.
        back: with how many seeds nearly all requests were answered then.
        seeds: of how many.
        stopped: the outage.
        outcome: the simulation with the first seed.
    """

    remedy: Remedy
    backlog: int
    asked: float
    after: float
    last: float
    gave_up: float
    back: int
    seeds: int
    stopped: Outage
    outcome: Outcome


def remedied(
    outage: int = OUTAGE,
    *,
    backlogs: Iterable[int] = BACKLOGS,
    clients: int = CLIENTS,
    watch: int = WATCH,
    seeds: int = SEEDS,
    seed: int = 0,
    jobs: int | None = None,
) -> list[Remedied]:
    """Simulate each remedy, with each accept queue.

    >>> some = remedied(5, clients=40, watch=5, seeds=1, backlogs=[128])
    >>> [one.back for one in some]
    [1, 1, 1, 1, 1, 1, 1]

    Args:
        outage: the whole seconds of the outage.
        backlogs: lengths of accept queues.
        clients: the number of clients.
        watch: whole seconds after it.
        seeds: how many seeds.
        seed: the first of them.
        jobs: processes for many seeds, as in `each_seed`.

    Raises:
        ValueError: `clients` or a number of seconds is not above 0.
    """
    kinds = [(remedy, backlog) for backlog in backlogs for remedy in REMEDIES]
    sample = each_seed(
        partial(all_simulated, kinds, clients, outage, watch),
        range(seed, seed + seeds),
        jobs=jobs,
    )
    return [
        tried(remedy, backlog, Outage(STEADY, outage), outcomes)
        for (remedy, backlog), outcomes in zip(
            kinds, zip(*sample.results, strict=True), strict=True
        )
    ]


def all_simulated(
    kinds: Sequence[tuple[Remedy, int]], clients: int, outage: int, watch: int, seed: int
) -> list[Outcome]:
    """Simulate each remedy and accept queue with one seed."""
    return [simulated(remedy, backlog, clients, outage, watch, seed) for remedy, backlog in kinds]


def simulated(
    remedy: Remedy, backlog: int, clients: int, outage: int, watch: int, seed: int
) -> Outcome:
    """Simulate one remedy, with one seed."""
    many = min(remedy.processes, clients)
    breakers = shared(
        lambda: CircuitBreaker(failures=remedy.failures(), within=WITHIN, open_for=REST),
        many,
        remedy.breaker,
    )
    program: Any = THREE_WAITS if remedy.ends else WITHOUT_END
    return simulate(
        program,
        SlowingServer(backlog=backlog, lingering=LINGERING).serves(Get),
        clients=clients,
        seconds=STEADY + outage + watch,
        schedule=backoffs()[remedy.waits],
        think=THINK,
        budget=shared(RetryBudget.grpc, many, remedy.budget),
        breaker=breakers,
        outages=[Outage(STEADY, outage)],
        seed=seed,
    )


def shared(make: Callable[[], T], processes: int, wanted: bool) -> Callable[[int], T] | None:
    """Give each client what its process has; `None` if that is not wanted.

    >>> mine = shared(object, 2, wanted=True)
    >>> mine is not None and mine(0) is mine(2) and mine(0) is not mine(1)
    True
    """
    if not wanted:
        return None
    made = [make() for _ in range(processes)]
    return lambda client: made[client % processes]


def tried(remedy: Remedy, backlog: int, stopped: Outage, outcomes: Sequence[Outcome]) -> Remedied:
    """Make the results of the outcomes of some seeds."""
    end = int(stopped.start + stopped.length)
    watched = [outcome.seconds[end:] for outcome in outcomes]
    quarter = max(1, len(watched[0]) // 4)
    return Remedied(
        remedy=remedy,
        backlog=backlog,
        asked=median(one.rate(lambda second: second.asked, end - 5, end) for one in outcomes),
        after=median(seconds[0].load for seconds in watched),
        last=median(
            sum(second.answered for second in seconds[-quarter:]) / quarter for seconds in watched
        ),
        gave_up=median(one.total(lambda second: second.gave_up) for one in outcomes),
        back=sum(
            recovers([one.answered for one in seconds], [one.failed for one in seconds])
            for seconds in watched
        ),
        seeds=len(outcomes),
        stopped=stopped,
        outcome=outcomes[0],
    )
