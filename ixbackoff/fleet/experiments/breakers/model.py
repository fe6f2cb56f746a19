"""Clients of a service that is down: with one circuit breaker, with many, with a budget, bare.

All clients of a process share its breaker. The service has workers and a queue; in the outage the
queue fills with requests that nobody answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ...._limits.breakers import CircuitBreaker
from ...._limits.budgets import RetryBudget
from ...._words.commands import Command
from ...._words.nat import N6, Z
from ...._words.vocabulary import Delay, Now
from ...._writing.attempts import do
from ...._writing.programs import Program, at
from ....schedules.kinds import Exponential, Schedule
from ...intermediate import Metered
from ...outcomes import Outcome
from ...queues import BoundedQueue
from ...simulation import Outage, simulate

LIMIT = 2.0  # seconds that a client waits for an answer
SCHEDULE: Schedule = Exponential(1.0, cap=10.0).jittered()
CLIENTS = 5000
THINK = 50.0
WORK = 0.1  # seconds for a request
SHARE = 250  # clients for each worker: half of its time
QUEUE = 5  # places for each worker
PROCESSES = 100
FAILURES = 20
WITHIN = 10.0
RESTS = (2.0, 10.0)
STEADY = 20
OUTAGE = 30
WATCH = 90


class Ask(Command[None]):
    """A request of a client."""

    __slots__ = ()


ASKING: Program[N6, Z, None, Ask | Now | Delay] = at(N6).retry(do(Ask()).limit(LIMIT))
"""The program of each client."""


class Way(NamedTuple):
    """A way to protect the service.

    Attributes:
        name: its name.
        breakers: the number of breakers, each shared by as many clients; 0 without.
        rest: the seconds of their rest.
        budget: makes the budget that all clients share, if there is one.
    """

    name: str
    breakers: int = 0
    rest: float = 0.0
    budget: Callable[[], RetryBudget] | None = None

    def failures(self) -> int:
        """The failures that open one of its breakers: together they stand for as many tries."""
        return max(1, FAILURES // self.breakers)

    def most(self, seconds: float) -> int | None:
        """The most probes in so many seconds of an outage; `None` without a breaker.

        >>> Way("one breaker", 1, 2.0).most(30), Way("bare").most(30)
        (15, None)
        """
        return int(self.breakers * seconds // self.rest) if self.breakers else None


def ways(processes: int = PROCESSES) -> list[Way]:
    """The ways that are compared.

    >>> [way.name for way in ways(7)]
    ['bare', 'budget, grpc', 'breaker, rest 2 s', 'breaker, rest 10 s', '7 breakers, rest 2 s']
    """
    short, long = RESTS
    return [
        Way("bare"),
        Way("budget, grpc", budget=RetryBudget.grpc),
        Way(f"breaker, rest {short:g} s", 1, short),
        Way(f"breaker, rest {long:g} s", 1, long),
        Way(f"{processes} breakers, rest {short:g} s", processes, short),
    ]


class Guarded(NamedTuple):
    """The results of one way.

    Attributes:
        way: the way.
        asked: requests at the service, second by second.
        down: requests in the outage, from when the breakers have opened: its first ten seconds are
            left out.
        before: runs that ended well per second, before the outage.
        last: the same in the last third of the time after it.
        recovered: seconds after the outage until it was as before; `None`, if it never was.
        gave_up: runs that ended with a failure.
        stopped: the outage.
        outcome: the simulation as the clients saw it.
    """

    way: Way
    asked: tuple[int, ...]
    down: int
    before: float
    last: float
    recovered: float | None
    gave_up: int
    stopped: Outage
    outcome: Outcome


OPENING = 10
"""Seconds of the outage after which the breakers are open."""


def guarded(
    *,
    clients: int = CLIENTS,
    processes: int = PROCESSES,
    outage: int = OUTAGE,
    watch: int = WATCH,
    seed: int = 0,
) -> list[Guarded]:
    """Simulate each way.

    >>> some = guarded(clients=500, processes=5, outage=30, watch=10)
    >>> [one.down <= one.way.most(20) for one in some if one.way.breakers]
    [True, True, True]

    Args:
        clients: the number of clients; the service grows with them.
        processes: the processes of which each has a breaker, in the last way.
        outage: the whole seconds of the outage, more than 10.
        watch: whole seconds after it.
        seed: the seed of the random numbers.

    Raises:
        ValueError: `clients` or a number of seconds is not above 0.
    """
    return [one_way(way, clients, outage, watch, seed) for way in ways(processes)]


def one_way(way: Way, clients: int, outage: int, watch: int, seed: int) -> Guarded:
    """Simulate one way."""
    workers = max(1, clients // SHARE)
    service = Metered(BoundedQueue(QUEUE * workers, WORK, workers))
    end, stopped = STEADY + outage, Outage(STEADY, outage)
    breakers = [
        CircuitBreaker(failures=way.failures(), within=WITHIN, open_for=way.rest)
        for _ in range(way.breakers)
    ]
    shared = way.budget and way.budget()
    outcome = simulate(
        ASKING,
        service.serves(Ask),
        clients=clients,
        seconds=end + watch,
        schedule=SCHEDULE,
        think=THINK,
        budget=shared and (lambda _: shared),
        breaker=(lambda client: breakers[client % len(breakers)]) if breakers else None,
        outages=[stopped],
        seed=seed,
    )
    asked = tuple(service.asked[second] for second in range(end + watch))
    before = outcome.rate(lambda second: second.well, STEADY // 2, STEADY)
    return Guarded(
        way=way,
        asked=asked,
        down=sum(asked[STEADY + OPENING : end]),
        before=before,
        last=outcome.rate(lambda second: second.well, end + watch * 2 // 3, end + watch),
        recovered=outcome.recovered_after(end, before, share=0.8, span=10) if before else None,
        gave_up=round(outcome.total(lambda second: second.gave_up)),
        stopped=stopped,
        outcome=outcome,
    )
