"""The simulation of "Exponential Backoff or how not to crash a server": a server stops for a while.

Clients wait in three ways: 100 ms each time, exponentially as the article's text says, and as its
program does. The outcome depends on the number of connections that the kernel queues, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil, isfinite, log
from operator import attrgetter
from random import Random
from typing import Annotated, Any, NamedTuple, final

from ixbackoff import (
    FOREVER,
    N0,
    Attempt,
    CircuitBreaker,
    Command,
    Constant,
    Delay,
    NotReady,
    Now,
    Program,
    RetryBudget,
    Throw,
    at,
    do,
)
from ixbackoff._argument_parser import number, whole
from ixbackoff.fleet import Outage, Outcome, SlowingServer, simulate
from ixbackoff.schedules import Chance, Schedule, Timing, WaitFunction
from ixbackoff.schedules.published import NormalJitter
from ixbackoff.schedules.shortening_jitter import Shortening

from ..drawing import Picture, grid
from .experiment import Cells, Experiment, grouped, shared

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
SHIPPED = """as shipped: the program of "Exponential Backoff or how not to crash a server";
its first wait is 2.7 times the pause before the request."""
REMEDIED = """three waits, budgets: exponential; failed runs not shown.
budgets, breakers: one in each of 10 processes. breakers: with fixed waits."""
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
    """A way to wait, with a remedy; the clients of a process share its budget and its breaker."""

    name: str
    program: Program[Any, N0, None, Get | Now | Throw | Delay]
    schedule: Timing
    think: float = THINK  # the mean number of seconds before each run of the program
    remedy: str = "nothing"
    processes: int = 1
    budget: Callable[[], RetryBudget] | None = None
    breaker: Callable[[], CircuitBreaker] | None = None


def ways() -> list[Waiting]:
    """Return three ways to wait: 100 ms each time; as in the article's text; as in its program."""
    named = [Waiting(name, asking(), schedule) for name, schedule in backoffs().items()]
    return [*named, Waiting("as shipped", at(FOREVER).retry_with(thinking), PostShipped(), AT_ONCE)]


def thinking(rung: int) -> Attempt[Get | Now | Throw, None]:
    """Fail in the first try, then ask: so the first wait of the program is the time to think."""
    return do(Throw(NotReady("it thinks first"))) if rung == FIRST else do(Get()).limit(TIMEOUT)


class Crash(NamedTuple):
    way: str
    remedy: str
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
    outage: Annotated[float, number(0.1, 86_400), "the outage", "SECONDS"] = OUTAGE,
    *,
    backlog: Annotated[
        Iterable[int], whole(0, 65_535), "the length of the accept queue"
    ] = BACKLOGS,
    clients: Annotated[int, whole(1, 100_000), "the number of clients"] = CLIENTS,
    steady: Annotated[int, whole(1, 3600), "whole seconds before the outage", "SECONDS"] = STEADY,
    watch: Annotated[int, whole(1, 86_400), "whole seconds after the outage", "SECONDS"] = WATCH,
    lingering: Annotated[
        float,
        number(0, 3600),
        "how long the dial of an abandoned request continues, as in Go; 0 "
        "for clients that close their sockets",
        "SECONDS",
    ] = LINGERING,
    int64: Annotated[bool, bool, "let delays above 292 years overflow, as in Go"] = False,
    server: SlowingServer | None = None,
    waiting: Sequence[Waiting] = (),
    seed: int = 0,
) -> list[Crash]:
    """Simulate each way to wait with each accept queue, whose length replaces that of `server`."""
    model = server or SlowingServer(lingering=lingering, int64=int64)
    return [
        crashed(way, replace(model, backlog=length), clients, steady, outage, watch, seed)
        for length in backlog
        for way in waiting or ways()
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
        budget=way.budget and shared(way.budget, way.processes),
        breaker=way.breaker and shared(way.breaker, way.processes),
        outages=[stopped],
        seed=seed,
    )
    before = outcome.rate(lambda second: second.well, WARM if steady > 2 * WARM else 0, steady)
    watched = outcome.seconds[end:]
    well = [second.answered for second in watched]
    return Crash(
        way=way.name,
        remedy=way.remedy,
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
        "steady/s": result.steady,
        "timeouts/s": result.rate,
        "after 1 s": result.after,
        "most": result.most,
        "end/s": result.last,
        "recovers": result.recovers,
    }


def picture(results: Sequence[Crash]) -> Picture:
    """Draw a line for each way to wait, or for each remedy with the first of its ways to wait."""
    columns: dict[str, dict[str, list[list[float]]]] = {}
    for backlog, some in grouped(results, attrgetter("backlog")).items():
        seconds = {name(result): result.outcome.seconds for result in reversed(some)}
        back = "; ".join({name(result): 0 for result in some if result.recovers}) or "none"
        columns[f"accept queue {backlog}, back with:\n{back}"] = {
            way: [[second.well for second in counts], [second.load for second in counts]]
            for way, counts in reversed(seconds.items())
        }
    stopped = results[0].stopped
    what, note = ("waits", SHIPPED) if results[-1].remedy == "nothing" else ("remedies", REMEDIED)
    return grid(
        f"After an outage of {stopped.length:g} s: with which {what} does the server come back?",
        columns,
        {"answered/s": "linear", "requests at once": "symlog"},
        ("the server is stopped", stopped.span),
        "fixed: waits of 0.1 s. exponential: first 0.1 s, then 2.7 times the last.\n" + note,
    )


def name(result: Crash) -> str:
    return result.way if result.remedy == "nothing" else result.remedy.lstrip("0123456789 ")


EXPERIMENT = Experiment(crash, row, picture, names=2)
