"""`python -m ixbackoff.fleet simulate`: your own program, and a service that stops."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from math import inf
from shutil import get_terminal_size
from time import monotonic
from typing import Any

from .._commandline import FAILED, WRONG, Parser, in_one_line, number, whole
from .._limits.breakers import CircuitBreaker
from .._limits.budgets import RetryBudget
from .._meaning.chains import Ladder, program_of
from .._words.calls import Call, CallAsync
from .._words.commands import Command, Interpreter, Misuse
from .._words.reasons import NOTE
from .answers import Answering
from .channel import Channel
from .drawing import add_picture, pictured
from .named import interpreter, program, timing
from .outcomes import Outcome, Second
from .queues import BoundedQueue
from .reports import RECOVERS, numbers, report
from .seeded import Numbers, add_seeds, sampled, spread
from .services import Served, Service
from .simulation import Outage, simulate
from .slowing import SlowingServer

BUDGETS: dict[str, Callable[[], RetryBudget]] = {
    "botocore": RetryBudget.botocore,
    "grpc": RetryBudget.grpc,
    "finagle": RetryBudget.finagle,
}


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
    """Read a circuit breaker: its failures, the seconds in which they come, and its rest.

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
    """Make the service that the command line describes."""
    if words.service == "post":
        return SlowingServer(backlog=words.backlog)
    if words.service == "channel":
        return Channel(words.time, words.slotted)
    return BoundedQueue(words.queue, words.time, words.workers)


def parsed(arguments: list[str] | None) -> Namespace:
    """Read the command line."""
    parser = Parser(
        prog="python -m ixbackoff.fleet simulate",
        description="Run a program of yours by many clients, in virtual time, against a model of a "
        "service that stops for a while; and see whether it comes back.",
        epilog="Exit status: 0 if it came back; 1 if it did not; 2 if the command is wrong.",
    )
    parser.add_argument(
        "program",
        type=program,
        metavar="MODULE:NAME",
        help="a program, a function that is decorated with backoff, or a function from the number "
        "of a client to a program; its commands are asked "
        "of the service, but Log, Now, Pick and Throw, which need none",
    )
    parser.add_argument(
        "--answers",
        type=interpreter,
        metavar="MODULE:NAME",
        help="an interpreter that makes the answers; the service has the time and the failures. "
        "Commands whose type says that their answer is None need none",
    )
    add_clients(parser)
    add_service(parser)
    add_waits(parser)
    add_seeds(parser)
    add_picture(parser)
    return parser.parse_args(arguments)


def add_clients(parser: ArgumentParser) -> None:
    """Add the flags that say how many clients there are, how long, and when the service stops."""
    many = parser.add_mutually_exclusive_group()
    many.add_argument("--clients", type=whole(1, 1_000_000), default=1000, help="(default: 1000)")
    many.add_argument(
        "--arrivals",
        type=number(1e-6, 1e6),
        metavar="RATE",
        help="in place of clients that think: so many come per second, each for one run",
    )
    parser.add_argument(
        "--think",
        type=number(1e-6, 1e6),
        default=10.0,
        metavar="SECONDS",
        help="mean time between two runs of a client (default: %(default)g)",
    )
    parser.add_argument(
        "--seconds", type=number(1, 1e6), default=75.0, help="of the whole (default: %(default)g)"
    )
    parser.add_argument(
        "--outage",
        type=outage,
        default=Outage(15.0, 20.0),
        metavar="START:LENGTH",
        help="when the service stops, and for how long (default: 15:20)",
    )


def add_service(parser: ArgumentParser) -> None:
    """Add the flags that describe the service."""
    parser.add_argument(
        "--service",
        choices=("post", "queue", "channel"),
        default="queue",
        help="post: gets slower, the more it has to do, as the post's server; queue: some workers "
        "and a queue, and what finds it full is refused at once; channel: what is sent at the same "
        "time as something else is lost (default: queue)",
    )
    parser.add_argument(
        "--backlog", type=whole(0, 65_535), default=4096, help="post: its accept queue (4096)"
    )
    parser.add_argument("--queue", type=whole(0, 10**9), default=100, help="queue: length (100)")
    parser.add_argument("--workers", type=whole(1, 10**6), default=20, help="queue: how many (20)")
    parser.add_argument(
        "--time",
        type=number(1e-6, 1e6),
        default=0.1,
        metavar="SECONDS",
        help="queue: of work for a request; channel: of a transmission (0.1)",
    )
    parser.add_argument(
        "--slotted", action="store_true", help="channel: a transmission begins with a slot"
    )


def add_waits(parser: ArgumentParser) -> None:
    """Add the flags that say how the clients wait, and what limits their tries."""
    parser.add_argument(
        "--schedule", type=timing, metavar="MODULE:NAME", help="its waits (the program's own)"
    )
    parser.add_argument(
        "--within", type=number(1e-6, 1e9), metavar="SECONDS", help="that each run has in all"
    )
    parser.add_argument("--budget", choices=BUDGETS, help="of each client, for all of its runs")
    parser.add_argument(
        "--breaker",
        type=breaker,
        metavar="FAILURES:WITHIN:REST",
        help="the circuit breaker of each client, for all of its runs",
    )
    parser.add_argument(
        "--shared",
        action="store_true",
        help="one budget and one breaker for all clients, as in one process",
    )


calls: type[Call[Any]] = Call
calls_async: type[CallAsync[Any]] = CallAsync
NOTHING: Interpreter[Any] = calls.handled_by(lambda _: None) | calls_async.handled_by(
    lambda _: None
)
"""The answers to a decorated function, whose caller nobody simulates."""


def rehearsed(words: Namespace, watch: Callable[[int, Second], None] | None = None) -> Outcome:
    """Run the simulation that the command line describes."""
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


EVERY = 0.05  # seconds of real time between two updates, so that it can be read


@contextmanager
def live() -> Generator[Callable[[int, Second], None] | None]:
    """Show a line on the terminal in this block, updated each second; without a terminal, none.

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


def numbers_of(arguments: list[str] | None, seed: int) -> Numbers:
    """Run the simulation with another seed; what is compared then."""
    words = parsed(arguments)
    words.seed = seed
    return numbers(report(rehearsed(words), words.outage))


def main(arguments: list[str] | None = None) -> int:
    """Run the simulation, and print its outcome; the exit status."""
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
    from .rehearsal_pictures import draw

    drawn = pictured(partial(draw, outcome, words.outage), words.picture) if outcome else 0
    return drawn or (0 if recovers else FAILED)
