"""The simulation of "Exponential Backoff or how not to crash a server".

The outcome depends on the waits, and on the number of connections that the kernel queues.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, isfinite, log
from operator import attrgetter
from random import Random
from typing import NamedTuple, final

from ixbackoff import (
    FOREVER,
    N0,
    Attempt,
    Command,
    Constant,
    Delay,
    NotReady,
    Now,
    Program,
    Throw,
    at,
    do,
)
from ixbackoff.fleet import Outage, Outcome, SlowingServer, simulate
from ixbackoff.schedules import Chance, Schedule, Timing, WaitFunction
from ixbackoff.schedules.published import NormalJitter
from ixbackoff.schedules.shortening import Shortening

from ..._argument_parser import Flag, number, whole
from ..drawing import Panel, Picture, by_second
from ..reports import Numbers
from .experiment import Cells, Experiment, grouped, row_by_row

CLIENTS = 1000
THINK = 10.0
TIMEOUT = 2.0
WAIT = 0.1
FACTOR = 2.71828
JITTER = 0.1
DEVIATION = 0.1
LONGEST = 300.0
LINGERING = 30.0  # seconds for which an abandoned dial continues in Go, as in the article's client
FIRST = 20  # the rung that `retry_with` passes for the first try of a ladder without end
BACKLOGS = (128, 4096)
"""The default lengths of Linux's accept queue: up to version 5.3, and from version 5.4 on."""
STEADY = 15
OUTAGE = 20
WATCH = 40
WARM = 5  # seconds until the load is steady
AT_ONCE = 1e-9  # the time to think before the runs of "as shipped", which think in their first wait
SHARE = 0.9
LAST = 0.25


class Get(Command[None]):
    """A request over a connection of its own: GET /api."""

    __slots__ = ()


def asking(timeout: float = TIMEOUT) -> Program[FOREVER, N0, None, Get | Now | Delay]:
    return at(FOREVER).retry(do(Get()).limit(timeout))


def backoffs(wait: float = WAIT) -> dict[str, Schedule]:
    """Return the two modes of the article by name: waits of `wait` seconds, or growing ones."""
    return {
        "fixed": Constant(wait),
        "exponential": NormalJitter(wait, FACTOR, JITTER, max(LONGEST, wait)),
    }


@final
@dataclass(frozen=True)
class PostShipped(Shortening):
    """Waits that begin with the time to think; each is computed from the one before it.

    The program that was published with "Exponential Backoff or how not to crash a server" has one
    variable for the time to think and for the waits. So its first wait after a failure is `factor`
    times as long as the client has just thought, and its jitter does not grow with the wait. A wait
    can be shorter than the one before.
    """

    think: float = THINK  # the mean seconds of wait 0, exponentially distributed
    factor: float = FACTOR  # the ratio of a wait to the one before, without the jitter
    deviation: float = DEVIATION  # the standard deviation of the jitter, seconds
    max_delay: float = LONGEST  # the seconds of the longest wait, without the jitter

    def __post_init__(self) -> None:
        for name in "think", "factor", "max_delay":
            value = getattr(self, name)
            if not (isfinite(value) and value > 0):
                raise ValueError(f"{name}={value!r}: give a number above 0.")
        if not (isfinite(self.deviation) and self.deviation >= 0):
            raise ValueError(f"deviation={self.deviation!r}: give seconds, 0 or more.")

    def begin(self, chance: Chance | None = None) -> WaitFunction:
        random = chance or Random()  # noqa: S311
        delay = -self.think * log(1.0 - random.uniform(0.0, 1.0 - 1e-12))
        at = 0

        def waits(k: int) -> float:
            nonlocal delay, at
            while at < k:
                delay = min(delay * self.factor, self.max_delay)
                delay += random.normalvariate(0.0, self.deviation)
                at += 1
            return max(0.0, delay)

        return waits


def last_rate(counts: Sequence[float]) -> float:
    last = counts[-max(1, round(len(counts) * LAST)) :]
    return sum(last) / max(1, len(last))


def recovers(answered: Sequence[float], failed: Sequence[float]) -> bool:
    """Return whether 90 % of the requests are answered in the last quarter of the seconds.

    The verdict is on the service: clients that still wait send no requests, and do not count.

    >>> recovers([0, 0, 40, 99], [99, 99, 99, 0]), recovers([0, 0, 9, 9], [99, 99, 99, 99])
    (True, False)
    """
    answers, failures = last_rate(answered), last_rate(failed)
    return answers > 0 and answers >= SHARE * (answers + failures)


class Waiting(NamedTuple):
    """A way to wait; `think` is the mean number of seconds before each run of the program."""

    name: str
    program: Program[FOREVER, N0, None, Get | Now | Throw | Delay]
    schedule: Timing
    think: float


def ways() -> list[Waiting]:
    """Return three ways to wait: 100 ms each time; as in the article's text; as in its program."""
    program = asking()
    named = [Waiting(name, program, schedule, THINK) for name, schedule in backoffs().items()]
    return [*named, Waiting("as shipped", at(FOREVER).retry_with(thinking), PostShipped(), AT_ONCE)]


def thinking(rung: int) -> Attempt[Get | Now | Throw, None]:
    """Fail in the first try, then ask: so the first wait of the program is the time to think."""
    return do(Throw(NotReady("it thinks first"))) if rung == FIRST else do(Get()).limit(TIMEOUT)


class Crash(NamedTuple):
    way: str
    backlog: int
    steady: float  # the answered requests per second before the outage
    rate: float  # the timed-out requests per second, in the last five seconds of the outage
    after: int  # the concurrent requests one second after the outage
    most: int  # the greatest number of concurrent requests after the outage
    last: float  # the answered requests per second in the last quarter of the time after the outage
    recovers: bool  # whether 90 % of the requests were answered in that quarter
    stopped: Outage
    outcome: Outcome


def crash(
    outage: float = OUTAGE,
    *,
    backlogs: Iterable[int] = BACKLOGS,
    clients: int = CLIENTS,
    steady: int = STEADY,
    watch: int = WATCH,
    lingering: float = LINGERING,
    int64: bool = False,
    server: SlowingServer | None = None,
    seed: int = 0,
) -> list[Crash]:
    """Simulate each way to wait with each accept queue, whose length replaces that of `server`."""
    model = server or SlowingServer(lingering=lingering, int64=int64)
    return [
        crashed(way, replace(model, backlog=backlog), clients, steady, outage, watch, seed)
        for backlog in backlogs
        for way in ways()
    ]


def crashed(
    way: Waiting,
    server: SlowingServer,
    clients: int,
    steady: int,
    outage: float,
    watch: int,
    seed: int,
) -> Crash:
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


def row(result: Crash) -> Cells:
    return {
        "queue": result.backlog,
        "backoff": result.way,
        "steady/s": f"{result.steady:.1f}",
        "timeouts/s": f"{result.rate:.1f}",
        "after 1 s": result.after,
        "most": result.most,
        "end/s": f"{result.last:.1f}",
        "recovers": "yes" if result.recovers else "no",
    }


STYLES = (1, 0, 2)  # of the lines of the three ways, in the order of `ways`


def picture(results: Sequence[Crash]) -> Picture:
    answered: list[Panel] = []
    loads: list[Panel] = []
    stopped = "the server is stopped", results[0].stopped.span
    for backlog, some in grouped(results, attrgetter("backlog")).items():
        back = ", ".join(result.way for result in some if result.recovers) or "none"
        title = f"accept queue {backlog}: back with {back}"
        seconds = {result.way: result.outcome.seconds for result in some}
        well = by_second({way: [one.well for one in each] for way, each in seconds.items()}, STYLES)
        load = by_second({way: [one.load for one in each] for way, each in seconds.items()}, STYLES)
        answered.append(Panel("answered per second", well, title=title, outage=stopped))
        loads.append(Panel("requests at once", load, scale="symlog", outage=stopped))
    return Picture(
        "After an outage: which way to wait lets the server come back?",
        [answered, loads],
        inches=(10.0, 6.0),
        shared=True,
    )


def numbers(result: Crash) -> tuple[str, Numbers]:
    return f"{result.backlog:5}  {result.way:11}", {
        "after 1 s": result.after,
        "most": result.most,
        "end/s": result.last,
        "recovers": result.recovers,
    }


BACKLOG = Flag(
    "backlog", BACKLOGS, whole(0, 65_535), "the length of the accept queue", argument="backlogs"
)

EXPERIMENT = Experiment(
    'The simulation of "Exponential Backoff or how not to crash a server": a server stops for a '
    "while. Clients wait in three ways: 100 ms each time, exponentially as the article's text "
    "says, and as its program does. Connections wait in accept queues of two lengths.",
    crash,
    [
        Flag("steady", STEADY, whole(1, 3600), "whole seconds before the outage", "SECONDS"),
        Flag("outage", OUTAGE, number(0.1, 86_400), "the outage", "SECONDS"),
        Flag("watch", WATCH, whole(1, 86_400), "whole seconds after the outage", "SECONDS"),
        Flag("clients", CLIENTS, whole(1, 100_000), "the number of clients"),
        BACKLOG,
        Flag(
            "lingering",
            LINGERING,
            number(0, 3600),
            "how long the dial of an abandoned request continues, as in Go; 0 for clients that "
            "close their sockets",
            "SECONDS",
        ),
        Flag("int64", False, bool, "let delays above 292 years overflow, as in Go"),
    ],
    row_by_row(row),
    picture,
    numbers,
)
