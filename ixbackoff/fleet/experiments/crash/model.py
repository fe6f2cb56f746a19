"""A server is stopped for a while, and its clients wait in three ways.

The simulation of "Exponential Backoff or how not to crash a server": a thousand clients, a server
that gets slower the more it has to do, and an outage. The outcome depends on the waits, and on how
many connections the kernel keeps for a stopped server.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import ceil
from typing import NamedTuple

from ...._words.failures import NotReady
from ...._words.nat import DEEPEST, FOREVER, Forever, Z
from ...._words.vocabulary import Delay, Now, Throw
from ...._writing.attempts import Attempt, do
from ...._writing.programs import Program, at
from ....schedules.kinds import Timing
from ...outcomes import Outcome
from ...simulation import Outage, simulate
from ...slowing import SlowingServer
from .clients import CLIENTS, LINGERING, THINK, TIMEOUT, Get, asking, backoffs
from .shipped import PostShipped
from .verdicts import last_rate, recovers

BACKLOGS = (128, 4096)
"""The accept queues of Linux until version 5.3, and since."""
STEADY = 15
OUTAGE = 20
WATCH = 40
WARM = 5  # seconds until a thousand clients are in their stride
AT_ONCE = 1e-9  # seconds; the program thinks itself


class Way(NamedTuple):
    """One way to wait.

    Attributes:
        name: its name.
        program: the program that each client runs, again and again.
        schedule: the waits of the program.
        think: mean seconds before each run of the program.
    """

    name: str
    program: Program[Forever, Z, None, Get | Now | Throw | Delay]
    schedule: Timing
    think: float


def ways() -> list[Way]:
    """The three ways of the post: 100 ms each time, as its text has it, and as its program has it.

    >>> [way.name for way in ways()]
    ['fixed', 'exponential', 'as shipped']
    """
    program = asking()
    named = [Way(name, program, schedule, THINK) for name, schedule in backoffs().items()]
    return [*named, Way("as shipped", at(FOREVER).retry_with(thinking), PostShipped(), AT_ONCE)]


def thinking(rung: int) -> Attempt[Get | Now | Throw, None]:
    """Ask, but not in the first try: so the first wait of the program is the time to think."""
    return do(Throw(NotReady("it thinks first"))) if rung == DEEPEST else do(Get()).limit(TIMEOUT)


class Crash(NamedTuple):
    """The results of one way to wait, with one accept queue.

    Attributes:
        way: the name of the way.
        backlog: the length of the accept queue.
        steady: requests that were answered per second, before the outage.
        rate: requests that took too long per second, in the last five seconds of the outage.
        after: requests at once, one second after the outage.
        most: the most requests at once after the outage.
        last: requests that were answered per second, in the last quarter of the time after it.
        recovers: whether nearly all requests were answered then.
        stopped: the outage.
        outcome: the whole simulation.
    """

    way: str
    backlog: int
    steady: float
    rate: float
    after: int
    most: int
    last: float
    recovers: bool
    stopped: Outage
    outcome: Outcome


def crash(
    outage: float = OUTAGE,
    *,
    backlogs: Iterable[int] = BACKLOGS,
    clients: int = CLIENTS,
    steady: int = STEADY,
    watch: int = WATCH,
    server: SlowingServer | None = None,
    seed: int = 0,
) -> list[Crash]:
    """Simulate each way to wait, with each accept queue.

    >>> [(one.way, one.recovers) for one in crash(5, backlogs=[128], clients=50, watch=20)]
    [('fixed', True), ('exponential', True), ('as shipped', True)]

    Args:
        outage: the seconds of the outage; it ends with a second.
        backlogs: lengths of accept queues.
        clients: the number of clients.
        steady: whole seconds before the outage.
        watch: whole seconds after it.
        server: a server with other numbers, without lingering dials unless it says so; its accept
            queue is one of `backlogs`.
        seed: the seed of the random numbers.

    Raises:
        ValueError: `clients` or a number of seconds is not above 0.
    """
    model = server or SlowingServer(lingering=LINGERING)
    return [
        crashed(way, replace(model, backlog=backlog), clients, steady, outage, watch, seed)
        for backlog in backlogs
        for way in ways()
    ]


def crashed(
    way: Way, server: SlowingServer, clients: int, steady: int, outage: float, watch: int, seed: int
) -> Crash:
    """Simulate one way to wait, with one server."""
    end = steady + ceil(outage)
    stopped = Outage(end - outage, outage)
    outcome = simulate(
        way.program,
        server.serves(Get),
        clients=clients,
        seconds=end + watch,
        schedule=way.schedule,
        think=way.think,
        outages=[stopped],
        seed=seed,
    )
    before = outcome.rate(lambda second: second.well, WARM if steady > 2 * WARM else 0, steady)
    watched = outcome.seconds[end:]
    well = [second.answered for second in watched]
    return Crash(
        way=way.name,
        backlog=server.backlog,
        steady=before,
        rate=outcome.rate(lambda second: second.late, max(steady, end - 5), end),
        after=int(watched[0].load),
        most=int(max(second.load for second in watched)),
        last=last_rate(well),
        recovers=recovers(well, [second.failed for second in watched]),
        stopped=stopped,
        outcome=outcome,
    )
