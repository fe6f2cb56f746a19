"""`ixbackoff fleet tune`: the waits that Thain recommends, checked by a simulation."""

from __future__ import annotations

from functools import partial
from math import ceil, log
from operator import attrgetter
from typing import NamedTuple

from .._argument_parser import FAILED, Flag, Parser, add_flags, number, whole
from .._words.commands import Command
from .._words.failure_classes import ServerError
from .._words.rungs import DEEPEST, FOREVER, N20
from .._writing.programs import at
from ..schedules.algebra import Schedule
from ..schedules.published import thain
from .lost_capacity import Outage
from .reports import sampled, seed_flags, written
from .seed_sweep import SEEDS
from .services.answering_service import Answering
from .services.bounded_queue import BoundedQueue
from .simulation import simulate

FACTOR = 2.0
GROWN = 4  # in units of M + T: by then all waits are M, whatever R is, if 20 waits can reach M
WATCHED = 10  # in units of M + T
ROUNDED = 1 + 1e-9


class Tuned(NamedTuple):
    """The parameters of MIN(R * T * F^N, M), and their consequences."""

    timeout: float  # T, seconds
    maximum: float  # M, seconds
    rungs: int  # the number of waits that outlast the outage; the deepest ladder has only 20
    rate: float  # the most failed requests per second after all waits have grown to M

    @property
    def schedule(self) -> Schedule:
        return thain(self.timeout, self.maximum, FACTOR)


def tuned(p99: float, clients: int, rate: float, outage: float) -> Tuned:
    """Choose T and M as "Exponential Backoff in Distributed Systems" (Douglas Thain, 2009) says.

    T is the 99th percentile of the response time. M is T or more, and as short as the service can
    bear: clients that each send a request every M seconds send at most `rate` per second together.

    >>> tuned(p99=0.01, clients=1000, rate=1000.0, outage=30.0)
    Tuned(timeout=0.01, maximum=1.0, rungs=36, rate=1000.0)
    """
    maximum = max(clients / rate, p99)
    growing = max(ceil(log(maximum / p99, FACTOR)), 0)
    grown = p99 * (FACTOR**growing - 1) / (FACTOR - 1)  # with R = 1: the sum of the waits below M
    if grown >= outage:
        rungs = ceil(log(outage * (FACTOR - 1) / p99 + 1, FACTOR))
    else:
        rungs = growing + ceil((outage - grown) / maximum)
    return Tuned(p99, maximum, rungs, clients / maximum)


class Ping(Command[None]):
    __slots__ = ()


def fail(_: Ping) -> None:
    raise ServerError(503)


def failing_rate(tuning: Tuned, clients: int, seed: int = 0) -> float:
    """Simulate an endless outage; return the failed requests per second after all waits have grown.

    The unit of time is M + T, the time from one failure to the next, so that counts are exact.
    """
    unit = tuning.maximum + tuning.timeout
    timeout, maximum = tuning.timeout / unit, tuning.maximum / unit
    everybody = BoundedQueue(length=0, work=timeout, workers=clients)
    outcome = simulate(
        at(FOREVER).retry(Ping()),
        Answering(everybody, Ping.handled_by(fail)).serves(Ping),
        clients=clients,
        seconds=GROWN + WATCHED,
        schedule=thain(timeout, maximum, FACTOR),
        seed=seed,
    )
    return outcome.rate(lambda second: second.failed, GROWN, GROWN + WATCHED) / unit


class Check(NamedTuple):
    """The results of the simulations with one seed; the times are in seconds."""

    failing: float  # failed requests per second, after all waits have grown
    p50: float  # of the runs that succeeded
    p99: float
    gave_up: float  # the share of the runs


def checked(tuning: Tuned, clients: int, outage: float, seed: int = 0) -> Check:
    """Simulate an outage that starts when the runs do, and an endless one (`failing_rate`)."""
    outcome = simulate(
        at(N20).retry(Ping()),
        BoundedQueue(length=0, work=0.0, workers=clients).serves(Ping),
        clients=clients,
        seconds=outage + (DEEPEST + 1) * tuning.maximum,
        schedule=tuning.schedule,
        outages=[Outage(0.0, outage)],
        seed=seed,
    )
    failing = failing_rate(tuning, clients, seed)
    return Check(failing, outcome.quantile(0.5), outcome.quantile(0.99), outcome.gave_up / clients)


RATE = number(1e-3, 1e9)
P99 = "the 99th percentile of the response time"
BEARABLE = "the failed requests per second that the service can bear for long"
FLAGS = (
    Flag("p99", None, number(1e-6, 3600), P99, "SECONDS", required=True),
    Flag("clients", None, whole(1, 10**6), "the number of clients", required=True),
    Flag("rate", None, RATE, BEARABLE, "RATE", required=True),
    Flag("outage", 30, RATE, "the length of the outage to outlast", "SECONDS"),
)


def main(arguments: list[str] | None = None) -> int:
    parser = Parser(
        prog="ixbackoff fleet tune",
        description='The parameters of MIN(R * T * F^N, M) that "Exponential Backoff in '
        'Distributed Systems" recommends, checked by a simulation of the outage.',
        epilog="Exit status: 0; 1 if the service cannot bear the load; 2 if the command is wrong.",
    )
    add_flags(parser, [*FLAGS, *seed_flags(SEEDS, "the number of simulations for the check")])
    args = parser.parse_args(arguments)
    tuning = tuned(args.p99, args.clients, args.rate, args.outage)
    ladder = f"N{min(tuning.rungs, DEEPEST)}"
    if tuning.rungs <= DEEPEST:
        print(f"ladder    at({ladder}): it waits for {args.outage:g} s at least")
    else:
        print(
            f"ladder    {tuning.rungs} waits would be needed for {args.outage:g} s, and the "
            f"deepest ladder is {ladder}: a run on it may give up before the outage is over, "
            "unless the random R makes its waits longer"
        )
    print(f"schedule  thain(timeout={tuning.timeout:g}, maximum={tuning.maximum:g})")
    sample = sampled(partial(checked, tuning, args.clients, args.outage), args)
    measured = max(check.failing for check in sample.results)
    holds = measured <= args.rate * ROUNDED
    verdict = f"no more than --rate {args.rate:g}"
    if not holds:
        first = tuning.maximum / FACTOR ** (DEEPEST - 1)  # the least T from which 20 waits reach M
        verdict = (
            f"more than --rate {args.rate:g}, because {DEEPEST} waits do not grow from "
            f"{tuning.timeout:g} to {tuning.maximum:g} s; give --p99 {first:g} or more"
        )
    print(
        f"check     late in a long outage, at most {measured:g} requests/s fail "
        f"(--seeds {args.seeds}): {verdict}"
    )
    gave_up = sample.mean(attrgetter("gave_up"))
    p50, p99 = (written(sample.quantile(attrgetter(name))) for name in ("p50", "p99"))
    print(
        f"latency   {p50} s in the median and {p99} s at the 99th percentile of the runs that "
        "begin with the outage and succeed"
        if gave_up < 1
        else "latency   no run that begins with the outage succeeds"
    )
    return 0 if holds else FAILED
