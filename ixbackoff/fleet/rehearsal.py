"""`python -m ixbackoff.fleet simulate`: your own program, against a service that stops."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from math import inf, nan
from shutil import get_terminal_size
from time import monotonic
from typing import Any

from .._commandline import FAILED, WRONG, Parser, imported, in_one_line, number, whole
from .._limits.breakers import CircuitBreaker
from .._limits.budgets import RetryBudget
from .._meaning.chains import Ladder, program_of
from .._words.calls import Call, CallAsync
from .._words.commands import AsyncInterpreter, Command, Interpreter, Misuse
from .._words.reasons import NOTE
from ..schedules.kinds import Timing
from .drawing import Panel, Picture, add_picture, by_second, draw, pictured
from .outcomes import Outcome, Second
from .reports import RECOVERS, Numbers, add_seeds, report, sampled, spread
from .services.channel import Channel
from .services.queue import BoundedQueue
from .services.replies import Answering
from .services.server import SlowingServer
from .services.service import Served, Service
from .simulation import Outage, simulate

BUDGETS: dict[str, Callable[[], RetryBudget]] = {
    "botocore": RetryBudget.botocore,
    "grpc": RetryBudget.grpc,
    "finagle": RetryBudget.finagle,
}


def program(text: str) -> Any:
    """Import a program, a decorated function, or a function from the number of a client to one."""
    named = imported(text)
    if not isinstance(named, Ladder) and not callable(named):
        raise ArgumentTypeError(f"{text} is not a program, but {named!r}")
    return named


def timing(text: str) -> Timing:
    """Import a schedule, which may shorten waits."""
    named = imported(text)
    if not isinstance(named, Timing):
        raise ArgumentTypeError(f"{text} is not a schedule, but {named!r}")
    return named


def interpreter(text: str) -> Interpreter[Any]:
    """Import an interpreter."""
    named: Interpreter[Any] = imported(text)
    given: object = named
    if isinstance(given, AsyncInterpreter):
        raise ArgumentTypeError(f"{text} awaits: give an interpreter of handled_by(...) alone")
    if not isinstance(given, Interpreter):
        raise ArgumentTypeError(f"{text} is not an interpreter, but {named!r}")
    return named


def outage(text: str) -> Outage:
    """Read an outage: its start and its length.

    >>> outage("15:20")
    Outage(start=15.0, length=20.0)
    """
    start, _, length = text.partition(":")
    try:
        return Outage(float(start), float(length))
    except ValueError:
        raise ArgumentTypeError(f"{text}: write START:LENGTH, in seconds, such as 15:20") from None


def breaker(text: str) -> Callable[[], CircuitBreaker]:
    """Read a circuit breaker: its failures, the seconds that count them, and those it stays open.

    >>> breaker("5:10:30")()
    <CircuitBreaker: closed, opens for 30 s after 5 failures within 10 s>
    """
    failures, _, seconds = text.partition(":")
    within, _, rest = seconds.partition(":")
    try:
        made = partial(
            CircuitBreaker, failures=int(failures), within=float(within), open_for=float(rest)
        )
        made()
    except ValueError:
        raise ArgumentTypeError(
            f"{text}: write FAILURES:WITHIN:REST, a whole number and seconds, such as 5:10:30"
        ) from None
    return made


def service(words: Namespace) -> Service:
    """Return the service that the command line describes."""
    if words.service == "post":
        return SlowingServer(backlog=words.backlog)
    if words.service == "channel":
        return Channel(words.time, words.slotted)
    return BoundedQueue(words.queue, words.time, words.workers)


def parsed(arguments: list[str] | None) -> Namespace:
    """Read the command line."""
    parser = Parser(
        prog="python -m ixbackoff.fleet simulate",
        description="Let many clients run a program of yours, in virtual time, against a modelled "
        "service that stops for a while; and see whether the service recovers.",
        epilog="Exit status: 0 if it recovers; 1 if it does not; 2 if the command is wrong.",
    )
    parser.add_argument(
        "program",
        type=program,
        metavar="MODULE:NAME",
        help="a program, a function decorated with backoff, or a function from the number of a "
        "client to a program; the service answers its commands, except Log, Now, Pick and Throw",
    )
    parser.add_argument(
        "--answers",
        type=interpreter,
        metavar="MODULE:NAME",
        help="an interpreter that makes the answers, at the times of the service; not needed for "
        "commands whose answer is None",
    )
    add_clients(parser)
    add_service(parser)
    add_waits(parser)
    add_seeds(parser)
    add_picture(parser)
    return parser.parse_args(arguments)


def add_clients(parser: ArgumentParser) -> None:
    """Add the flags of the clients, the seconds and the outage."""
    many = parser.add_mutually_exclusive_group()
    many.add_argument(
        "--clients",
        type=whole(1, 1_000_000),
        default=1000,
        metavar="NUMBER",
        help="the number of clients (default: 1000)",
    )
    many.add_argument(
        "--arrivals",
        type=number(1e-6, 1e6),
        metavar="RATE",
        help="instead of --clients: clients that arrive per second, each for one run",
    )
    parser.add_argument(
        "--think",
        type=number(1e-6, 1e6),
        default=10.0,
        metavar="SECONDS",
        help="the mean time between two runs of a client (default: %(default)g)",
    )
    parser.add_argument(
        "--seconds",
        type=number(1, 1e6),
        default=75.0,
        metavar="SECONDS",
        help="the length of the simulation (default: %(default)g)",
    )
    parser.add_argument(
        "--outage",
        type=outage,
        default=Outage(15.0, 20.0),
        metavar="START:LENGTH",
        help="when the service stops and for how long (default: 15:20)",
    )


def add_service(parser: ArgumentParser) -> None:
    """Add the flags that describe the service."""
    parser.add_argument(
        "--service",
        choices=("post", "queue", "channel"),
        default="queue",
        help="post: the post's server, which gets slower under load; queue: workers and a queue, "
        "which rejects requests when it is full; channel: overlapping transmissions are lost "
        "(default: queue)",
    )
    for name, read, default, what in (
        ("--backlog", whole(0, 65_535), 4096, "post: the length of the accept queue"),
        ("--queue", whole(0, 10**9), 100, "queue: its length"),
        ("--workers", whole(1, 10**6), 20, "queue: the number of workers"),
    ):
        parser.add_argument(
            name, type=read, default=default, metavar="NUMBER", help=f"{what} ({default})"
        )
    parser.add_argument(
        "--time",
        type=number(1e-6, 1e6),
        default=0.1,
        metavar="SECONDS",
        help="queue: work for a request; channel: a transmission (0.1)",
    )
    parser.add_argument(
        "--slotted", action="store_true", help="channel: transmissions begin with slots"
    )


def add_waits(parser: ArgumentParser) -> None:
    """Add the flags of the waits, and of what limits the tries."""
    parser.add_argument(
        "--schedule", type=timing, metavar="MODULE:NAME", help="the waits (the program's own)"
    )
    parser.add_argument(
        "--within", type=number(1e-6, 1e9), metavar="SECONDS", help="the deadline of each run"
    )
    parser.add_argument("--budget", choices=BUDGETS, help="the retry budget of each client")
    parser.add_argument(
        "--breaker",
        type=breaker,
        metavar="FAILURES:WITHIN:REST",
        help="the circuit breaker of each client",
    )
    parser.add_argument(
        "--shared",
        action="store_true",
        help="share one budget and one breaker between all clients, as in one process",
    )


calls: type[Call[Any]] = Call
calls_async: type[CallAsync[Any]] = CallAsync
NOTHING: Interpreter[Any] = calls.handled_by(lambda _: None) | calls_async.handled_by(
    lambda _: None
)
"""The answers to the calls of a decorated function, whose results are ignored."""


def rehearsed(words: Namespace, watch: Callable[[int, Second], None] | None = None) -> Outcome:
    """Run the simulation that the command line describes, and return its outcome."""
    given = program_of(words.program)
    handlers = words.answers or (NOTHING if given is not words.program else None)
    services: Served[Any] = Answering(service(words), handlers).serves(Command)
    budgets: dict[int, RetryBudget] = {}
    breakers: dict[int, CircuitBreaker] = {}

    def made(client: int) -> Any:
        try:
            return words.program(client)
        except Exception as error:
            raise Misuse(
                f"The function of programs failed for client {client}: {in_one_line(error)}"
            ) from None

    source: Any = given if isinstance(given, Ladder) else made

    def budget(client: int) -> RetryBudget:
        key = 0 if words.shared else client
        if key not in budgets:
            budgets[key] = BUDGETS[words.budget]()
        return budgets[key]

    def guard(client: int) -> CircuitBreaker:
        key = 0 if words.shared else client
        if key not in breakers:
            breakers[key] = words.breaker()
        return breakers[key]

    return simulate(
        source,
        services,
        clients=words.clients if words.arrivals is None else None,
        arrivals=words.arrivals,
        seconds=words.seconds,
        schedule=words.schedule,
        within=words.within,
        budget=budget if words.budget else None,
        breaker=guard if words.breaker else None,
        think=words.think if words.arrivals is None else None,
        outages=[words.outage],
        seed=words.seed,
        watch=watch,
    )


EVERY = 0.05  # seconds of real time between two updates of the line


@contextmanager
def live() -> Generator[Callable[[int, Second], None] | None]:
    """Return a function that shows each second in a line of the terminal; `None` without one.

    >>> with live() as watch:  # stderr may be a terminal here or not
    ...     print(watch is None or callable(watch))
    True
    """
    if not sys.stderr.isatty():
        yield None
        return
    width = get_terminal_size().columns - 1
    last, line = -inf, ""

    def show() -> None:
        print(f"\r{line[:width]:{width}}", end="", file=sys.stderr, flush=True)

    def watch(second: int, what: Second) -> None:
        nonlocal last, line
        line = (
            f"{second:5} s {what.asked:7} asked/s {what.well:7} well/s {what.gave_up:6} "
            f"gave up/s {what.load:8.0f} in service"
        )
        if monotonic() - last >= EVERY:
            last = monotonic()
            show()

    try:
        yield watch
    finally:
        if line:
            show()
            print(file=sys.stderr)


def picture(outcome: Outcome, stopped: Outage) -> Picture:
    """Return the requests and runs, the load of the service, and the latency of its answers."""
    seconds, gray = outcome.seconds, ("the service is stopped", stopped.span)
    rates = {
        "requests": by_second([second.asked for second in seconds], 0),
        "runs that ended well": by_second([second.well for second in seconds], 1),
        "runs that gave up": by_second([second.gave_up for second in seconds], 2),
    }
    loads = by_second([second.load for second in seconds], 0)
    latencies = by_second([second.latency if second.answered else nan for second in seconds], 0)
    well = outcome.total(lambda second: second.well)
    gave_up = outcome.total(lambda second: second.gave_up)
    return Picture(
        f"{well:,} runs ended well, {gave_up:,} gave up",
        [
            [Panel("per second", rates, outage=gray)],
            [Panel("requests in the service", {"load": loads}, outage=gray)],
            [Panel("latency, s", {"latency": latencies}, outage=gray)],
        ],
        inches=(9.0, 7.0),
        shared=True,
    )


def numbers_of(arguments: list[str] | None, seed: int) -> Numbers:
    """Run the simulation with another seed, and return the numbers to compare."""
    words = parsed(arguments)
    words.seed = seed
    return report(rehearsed(words), words.outage).numbers()


def main(arguments: list[str] | None = None) -> int:
    """Run the simulation, print its report, and return the exit status."""
    words = parsed(arguments)
    try:
        if words.seeds > 1:
            sample = sampled(partial(numbers_of, arguments), words)
            text, recovers = spread(sample), sample.share(lambda one: one[RECOVERS]) == 1
            outcome = rehearsed(words) if words.picture else None
        else:
            with live() as watch:
                outcome = rehearsed(words, watch)
            one = report(outcome, words.outage)
            text, recovers = one.text(), one.recovered is not None
    except (Misuse, ValueError) as error:
        notes: list[str] = getattr(error, "__notes__", [])
        seed = [f" ({note.removeprefix(NOTE).strip()})" for note in notes[:1]]
        print(f"{error}{''.join(seed)}", file=sys.stderr)
        return WRONG
    print(text)
    status = 0
    if outcome is not None:
        drawn = partial(draw, picture(outcome, words.outage), "simulation")
        status = pictured(drawn, words.picture)
    return status or (0 if recovers else FAILED)
