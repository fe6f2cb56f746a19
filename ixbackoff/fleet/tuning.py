"""`tune`: the waits that Thain's post recommends, checked by a simulation."""

from __future__ import annotations

from argparse import Namespace
from math import ceil, log
from typing import NamedTuple

from .._commandline import FAILED, Parser, number, whole
from .._words.commands import Command
from .._words.failures import ServerError
from .._words.nat import DEEPEST, N20
from .._writing.programs import at
from ..schedules.kinds import Schedule
from ..schedules.published import thain
from .events import Events
from .services import Request, Service, Serving
from .simulation import simulate

FACTOR = 2.0
GROWN = 4
"""After so many times M + T all waits have grown: R may double each wait below M."""
WATCHED = 10
ROUNDED = 1 + 1e-9
BOUNDS = {"p99": (1e-6, 3600), "clients": (1, 10**6), "rate": (1e-3, 1e9), "outage": (1e-3, 1e9)}


class Tuned(NamedTuple):
    """The parameters of MIN(R * T * F^N, M), and what they come to.

    Attributes:
        timeout: T, seconds.
        maximum: M, seconds.
        rungs: how many waits a ladder needs to outlast the outage; more than a ladder has, if it
            cannot.
        rate: failed requests per second that the service has to hold, at most, once all waits have
            grown to M.
    """

    timeout: float
    maximum: float
    rungs: int
    rate: float

    @property
    def schedule(self) -> Schedule:
        """Its waits."""
        return thain(self.timeout, self.maximum, FACTOR)


def tuned(p99: float, clients: int, rate: float, outage: float) -> Tuned:
    """T is the 99th percentile of the response time; M lets the service hold what fails.

    By "Exponential Backoff in Distributed Systems" (Douglas Thain, 2009): M as short as the
    customers want, and so long that all clients together, each once in M seconds, are no more than
    the failed requests that the service can hold.

    >>> tuned(p99=0.01, clients=1000, rate=1000.0, outage=30.0)
    Tuned(timeout=0.01, maximum=1.0, rungs=36, rate=1000.0)

    Args:
        p99: seconds.
        clients: how many.
        rate: failed requests per second that the service can hold for long.
        outage: seconds that a ladder is to outlast.

    Raises:
        ValueError: one of them is out of `BOUNDS`.
    """
    numbers: dict[str, object] = {"p99": p99, "clients": clients, "rate": rate, "outage": outage}
    for name, given in numbers.items():
        least, most = BOUNDS[name]
        if not isinstance(given, int | float) or not least <= given <= most:
            raise ValueError(f"{name}={given!r}: give a number, {least:g} to {most:g}.")
    maximum = max(clients / rate, p99)
    growing = max(ceil(log(maximum / p99, FACTOR)), 0)
    grown = p99 * (FACTOR**growing - 1) / (FACTOR - 1)  # what the waits below M come to at least
    if grown >= outage:
        rungs = ceil(log(outage * (FACTOR - 1) / p99 + 1, FACTOR))
    else:
        rungs = growing + ceil((outage - grown) / maximum)
    return Tuned(p99, maximum, rungs, clients / maximum)


class Ping(Command[None]):
    """A request."""

    __slots__ = ()


class Down(Service):
    """A service that is down: every request fails, after the time that the slowest take."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def begin(self, events: Events) -> Serving:
        return _Down(self.seconds, events)


class _Down(Serving):
    def __init__(self, seconds: float, events: Events) -> None:
        self.seconds = seconds
        self.events = events

    def ask(self, request: Request) -> None:
        self.events.after(self.seconds, self.failed, request)

    def failed(self, request: Request) -> None:
        request.fail(ServerError(503))


def failing_rate(tuning: Tuned, clients: int, seed: int = 0) -> float:
    """Failed requests per second, once all waits have grown: in a simulation.

    >>> parameters = tuned(p99=0.1, clients=100, rate=50.0, outage=30.0)
    >>> round(failing_rate(parameters, clients=100), 3) == round(100 / (2.0 + 0.1), 3)
    True

    Its unit of time is M + T, from one failure to the next, so that whole ones are watched.

    Args:
        tuning: the parameters.
        clients: how many.
        seed: of the random numbers.
    """
    unit = tuning.maximum + tuning.timeout
    timeout, maximum = tuning.timeout / unit, tuning.maximum / unit
    outcome = simulate(
        at(N20).retry(Ping()),
        Down(timeout).serves(Ping),
        clients=clients,
        seconds=GROWN + WATCHED,
        schedule=thain(timeout, maximum, FACTOR),
        persistent=True,
        seed=seed,
    )
    return outcome.rate(lambda second: second.failed, GROWN, GROWN + WATCHED) / unit


def parsed(arguments: list[str] | None) -> Namespace:
    """The command line's words."""
    parser = Parser(
        prog="python -m ixbackoff.fleet tune",
        description='The parameters of MIN(R * T * F^N, M) that "Exponential Backoff in '
        'Distributed Systems" recommends, checked by a simulation of the outage.',
        epilog="Exit status: 0; 1 if the service would not hold it; 2 if the command is wrong.",
    )
    parser.add_argument(
        "--p99",
        type=number(*BOUNDS["p99"]),
        required=True,
        metavar="SECONDS",
        help="the 99th percentile of the response time",
    )
    parser.add_argument("--clients", type=whole(1, 10**6), required=True, help="how many")
    parser.add_argument(
        "--rate",
        type=number(*BOUNDS["rate"]),
        required=True,
        help="failed requests per second that the service can hold for long",
    )
    parser.add_argument(
        "--outage",
        type=number(*BOUNDS["outage"]),
        default=30.0,
        metavar="SECONDS",
        help="how long a ladder is to outlast (default: %(default)g)",
    )
    parser.add_argument(
        "--seed", type=whole(0, 2**32), default=0, help="of the random numbers (default: 0)"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Print the parameters, and what a simulation says of them; the exit status."""
    words = parsed(arguments)
    tuning = tuned(words.p99, words.clients, words.rate, words.outage)
    ladder = f"N{min(tuning.rungs, DEEPEST)}"
    if tuning.rungs <= DEEPEST:
        print(f"ladder    at({ladder}): it waits for {words.outage:g} s at least")
    else:
        print(
            f"ladder    {tuning.rungs} waits would be needed for {words.outage:g} s, and the "
            f"deepest is {ladder}: it gives up before, or M has to be longer"
        )
    print(f"schedule  thain(timeout={tuning.timeout:g}, maximum={tuning.maximum:g})")
    measured = failing_rate(tuning, words.clients, words.seed)
    holds = measured <= words.rate * ROUNDED
    print(
        f"check     {measured:.1f} failed requests/s while the service is down, of "
        f"{words.rate:g} that it holds: {'it holds' if holds else 'it does not hold'}"
    )
    return 0 if holds else FAILED
