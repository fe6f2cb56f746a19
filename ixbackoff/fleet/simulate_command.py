"""`ixbackoff fleet simulate`: your own program, against a service that stops."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from math import ceil, inf, nan
from operator import itemgetter
from random import Random
from shutil import get_terminal_size
from time import monotonic
from typing import Any, TypeVar

from .._argument_parser import (
    FAILED,
    WRONG,
    Flag,
    Parser,
    add_flags,
    duration,
    imported,
    in_one_line,
    number,
    timing,
    whole,
)
from .._functions.default_interpreters import calls, calls_async
from .._limits.breakers import CircuitBreaker
from .._limits.budgets import RetryBudget
from .._meaning.chains import Ladder, program_of
from .._words.commands import AsyncInterpreter, Command, Interpreter, Misuse
from .._words.notes import NOTE
from ..plotting.panels import Graph, Panel, Picture, draw
from ..plotting.plot_command import pictured
from ..plotting.styles import line_style
from .arrivals import Arrivals
from .fits.fitted_service import BAND, FittedService, numbers_between, saved_model
from .lost_capacity import Outage
from .reports import PICTURE, RECOVERS, Numbers, Report, sampled, seed_flags, spread
from .seed_results import Sample, quantile
from .seed_sweep import SEEDS
from .services.answering_service import Answering
from .services.bounded_queue import BoundedQueue
from .services.collision_channel import Channel
from .services.service import Served, Service
from .services.slowing_server import SlowingServer
from .simulation import simulate
from .simulation_outcome import Outcome, Second

T = TypeVar("T")

POSITIVE = number(1e-6, 1e6)
BUDGETS: dict[str, Callable[[], RetryBudget]] = {
    "botocore": RetryBudget.botocore,
    "grpc": RetryBudget.grpc,
    "finagle": RetryBudget.finagle,
}


def program(text: str) -> Any:
    """Import a program, a decorated function, or a function that returns a client's program."""
    named = imported(text)
    if not isinstance(named, Ladder) and not callable(named):
        raise ArgumentTypeError(f"{text} is not a program, but {named!r}")
    return named


def interpreter(text: str) -> Interpreter[Any]:
    named: Interpreter[Any] = imported(text)
    given: object = named
    if isinstance(given, AsyncInterpreter):
        raise ArgumentTypeError(f"{text} is async: give an interpreter of handled_by(...) alone")
    if not isinstance(given, Interpreter):
        raise ArgumentTypeError(f"{text} is not an interpreter, but {named!r}")
    return named


def outage(text: str) -> Outage:
    start, _, length = text.partition(":")
    length, _, lost = length.partition(":")
    try:
        return Outage(float(start), float(length), float(lost or 1))
    except ValueError:
        raise ArgumentTypeError(
            f"{text}: write START:LENGTH, in seconds, such as 15:20; or START:LENGTH:LOST, with "
            "the share of the capacity that is lost, such as 15:20:0.5"
        ) from None


def arrivals(text: str) -> Arrivals:
    """Return a rate, or import a function of the time or a list of times."""
    if ":" not in text:
        return POSITIVE(text)
    named: Arrivals = imported(text)
    given: object = named
    if not callable(given) and not isinstance(given, Iterable):
        raise ArgumentTypeError(f"{text} is neither a function nor a list of times, but {named!r}")
    return named


def breaker(text: str) -> Callable[[], CircuitBreaker]:
    failures, _, seconds = text.partition(":")
    within, _, open_for = seconds.partition(":")
    try:
        made = partial(
            CircuitBreaker, failures=int(failures), within=float(within), open_for=float(open_for)
        )
        made()
    except ValueError:
        raise ArgumentTypeError(
            f"{text}: write FAILURES:WITHIN:OPEN_FOR, a whole number and two numbers of seconds, "
            "such as 5:10:30"
        ) from None
    return made


def service(args: Namespace) -> Service:
    if args.model:
        return FittedService(args.model, args.seed, phases=args.replay)
    if args.service == "post":
        return SlowingServer(backlog=args.backlog)
    if args.service == "channel":
        return Channel(args.time, args.slotted)
    return BoundedQueue(args.queue, args.time, args.workers)


FLAGS = (
    Flag("clients", None, whole(1, 1_000_000), "the number of clients (default: 1000)"),
    Flag(
        "arrivals",
        None,
        arrivals,
        "instead of --clients: arrivals per second, each for one run; or a function from the "
        "time, in seconds, to this rate; or a list of times",
        "RATE|MODULE:NAME",
    ),
    Flag("think", 10.0, POSITIVE, "the mean time between a client's runs", "SECONDS"),
    Flag("seconds", 75.0, number(1, 1e6), "the simulated time, unless a trace gives it", "SECONDS"),
    Flag(
        "outage",
        None,
        outage,
        "when the service stops and for how long, in seconds; with LOST, 1 at most, it only loses "
        "that share of its capacity (default: 15:20, or no outage with --model)",
        "START:LENGTH[:LOST]",
    ),
    Flag(
        "answers",
        None,
        interpreter,
        "an interpreter that makes the answers, while the service decides when they arrive; not "
        "needed for commands whose answer is None",
        "MODULE:NAME",
    ),
    Flag("backlog", 4096, whole(0, 65_535), "post: the length of the accept queue"),
    Flag("queue", 100, whole(0, 10**9), "queue: its length"),
    Flag("workers", 20, whole(1, 10**6), "queue: the number of workers"),
    Flag("time", 0.1, POSITIVE, "queue: work of a request; channel: length of a frame", "SECONDS"),
    Flag("slotted", False, bool, "channel: a transmission begins when a slot begins"),
    Flag("schedule", None, timing, "seconds, or MODULE:NAME (default: the program's)", "SCHEDULE"),
    Flag("within", None, duration(1e-6), "the time limit of each run, such as 30 or 5m", "SECONDS"),
    Flag("breaker", None, breaker, "each client's circuit breaker", "FAILURES:WITHIN:OPEN_FOR"),
    Flag("shared", False, bool, "share one budget and one breaker between all clients"),
    Flag(
        "model", None, saved_model, "instead of --service: a model that `fleet fit` saved", "FILE"
    ),
    Flag("replay", False, bool, "with --model: repeat the arrivals of its trace (default)"),
    Flag("load", None, number(0.01, 100), "with --model: a factor for the arrivals of its trace"),
)


def parsed(arguments: list[str] | None) -> Namespace:
    parser = Parser(
        prog="ixbackoff fleet simulate",
        description="Let many clients run a program of yours, in virtual time, against a modelled "
        "service that stops for a while, and report whether the service recovers.",
        epilog="Exit status: 0 if the service recovers with each seed (with --model: if the model "
        "knows enough to predict); 1 if not; 2 if the command is wrong.",
    )
    parser.add_argument(
        "program",
        type=program,
        metavar="MODULE:NAME",
        help="a program, a function decorated with backoff, or a function from the number of a "
        "client to a program; the service answers its commands, except Delay, Log, Now, Pick, "
        "Reserve and Throw",
    )
    add_flags(parser, FLAGS)
    parser.add_argument(
        "--service",
        choices=("post", "queue", "channel"),
        default="queue",
        help="post: a web server, which gets slower under load; queue: workers and a queue, "
        "which rejects requests when it is full; channel: overlapping transmissions are lost "
        "(default: queue)",
    )
    parser.add_argument("--budget", choices=BUDGETS, help="the retry budget of each client")
    add_flags(parser, [*seed_flags(), PICTURE])
    args = parser.parse_args(arguments)
    if args.clients is not None and args.arrivals is not None:
        parser.error("argument --arrivals: not allowed with argument --clients")
    own = args.clients is not None or args.arrivals is not None
    if (args.replay or args.load) and (own or not args.model):
        parser.error("--replay and --load: give --model, and neither --clients nor --arrivals")
    if args.model and args.picture:
        parser.error("argument --picture: not allowed with argument --model")
    args.replay = args.model and not own
    if args.replay:
        args.seconds = ceil(args.model.arrivals[-1])
        args.arrivals = scaled(args.model.arrivals, args.load or 1.0)
    if args.model:
        args.seeds = len(args.model.near) * (SEEDS if args.seeds == 1 else args.seeds)
    elif args.outage is None:
        args.outage = Outage(15, 20)
    return args


def scaled(times: Iterable[float], load: float) -> list[float]:
    """Scale the arrivals by `load`: leave some times out, or repeat some up to 1 s later."""
    random = Random(1)  # noqa: S311
    copies = [(time, copy) for time in times for copy in range(int(load + random.random()))]
    return sorted(time + random.random() * (copy > 0) for time, copy in copies)


NOTHING = calls.handled_by(lambda _: None) | calls_async.handled_by(lambda _: None)
"""Handlers of the calls of a decorated function; they return `None`, which nothing uses."""


def each(make: Callable[[], T], shared: bool) -> Callable[[int], T]:
    """Return a function that makes an object for each client, or one for all if `shared`."""
    made: dict[int, T] = {}

    def object_of(client: int) -> T:
        key = 0 if shared else client
        if key not in made:
            made[key] = make()
        return made[key]

    return object_of


def rehearsed(args: Namespace, watch: Callable[[int, Second], None] | None = None) -> Outcome:
    given = program_of(args.program)
    handlers = args.answers or (NOTHING if given is not args.program else None)
    services: Served[Any] = Answering(service(args), handlers).serves(Command)

    def program_for(client: int) -> Any:
        try:
            return args.program(client)
        except Exception as error:
            raise Misuse(
                f"The function of programs failed for client {client}: {in_one_line(error)}"
            ) from None

    source: Any = given if isinstance(given, Ladder) else program_for

    return simulate(
        source,
        services,
        clients=args.clients or (1000 if args.arrivals is None else None),
        arrivals=args.arrivals,
        seconds=args.seconds,
        schedule=args.schedule,
        within=args.within,
        budget=each(BUDGETS[args.budget], args.shared) if args.budget else None,
        breaker=each(args.breaker, args.shared) if args.breaker else None,
        think=args.think if args.arrivals is None else None,
        outages=[args.outage] if args.outage else [],
        seed=args.seed,
        watch=watch,
    )


AT_ONCE = "most at once"
EVERY = 0.05  # seconds of real time between two updates of the line in the terminal


@contextmanager
def live_counts() -> Generator[Callable[[int, Second], None] | None]:
    """Yield a function that shows a second's counts in a line; yield `None` without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    width = get_terminal_size().columns - 1
    last, line = -inf, ""

    def show() -> None:
        print(f"\r{line[:width]:{width}}", end="", file=sys.stderr, flush=True)

    def watch(second: int, counts: Second) -> None:
        nonlocal last, line
        line = (
            f"{second:5} s {counts.asked:7} asked/s {counts.well:7} well/s {counts.gave_up:6} "
            f"gave up/s {counts.load:8.0f} in service"
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


def quantiles(outcome: Outcome, at: float) -> list[float]:
    """Return, for each second, a quantile of the latencies of the runs that succeeded in it."""
    left = iter(outcome.latencies)
    return [quantile([*islice(left, second.well)] or [nan], at) for second in outcome.seconds]


def graphs(lines: Mapping[str, Sequence[float]], first: int = 0) -> dict[str, Graph]:
    """Return lines with a value at the end of each second, in the styles from number `first` on."""
    return {
        name: Graph(range(1, len(line) + 1), line, line_style(number, len(line)))
        for number, (name, line) in enumerate(lines.items(), first)
    }


def picture(outcome: Outcome, stopped: Outage, seed: int) -> Picture:
    speed = "stopped" if stopped.lost == 1 else "slower"
    seconds, gray = outcome.seconds, (f"the service is {speed}", stopped.span)
    rates = {
        "requests": [second.asked for second in seconds],
        "runs that ended well": [second.well for second in seconds],
        "runs that gave up": [second.gave_up for second in seconds],
    }
    loads = {"requests in the service": [second.load for second in seconds]}
    latencies = {f"p{at} of the runs": quantiles(outcome, at / 100) for at in (50, 99)}
    well = outcome.total(lambda second: second.well)
    gave_up = outcome.total(lambda second: second.gave_up)
    return Picture(
        f"{well:,} runs ended well, {gave_up:,} gave up (seed {seed})",
        [
            [Panel("per second", graphs(rates), outage=gray)],
            [Panel("requests in the service", graphs(loads, 3), outage=gray)],
            [Panel("latency of runs, s", graphs(latencies, 4), outage=gray)],
        ],
        inches=(9.0, 7.0),
        shared=True,
    )


def numbers_of(arguments: list[str] | None, seed: int) -> Numbers:
    args = parsed(arguments)
    args.seed = seed
    outcome = rehearsed(args)
    if not args.model:
        return Report(outcome, args.outage).numbers()
    numbers = numbers_between(outcome, 0, len(outcome.seconds))
    return {**numbers, AT_ONCE: max(second.load for second in outcome.seconds)}


def foretold(sample: Sample[Numbers], args: Namespace) -> int:
    """Print the bands of a model's numbers, or why the model knows too little for bands."""
    below, most = BAND / len(args.model.near), sample.quantile(itemgetter(AT_ONCE), 1)
    endless = args.model.limit is None or args.model.near[0].kind == "none"
    if endless and most > args.model.seen:
        asked = f"--load {args.load:g}" if args.load else "This load"
        text = f"{asked} brings {most:.0f} requests at once, but the trace had only"
        print(f"{text} {args.model.seen}.", file=sys.stderr)
        return FAILED
    print(spread(sample, {"from": below, "to": 1 - below}))
    print(*(f"doubt: {doubt}\n" for doubt in args.model.doubts), sep="", end="")
    return 0


def main(arguments: list[str] | None = None) -> int:
    args = parsed(arguments)
    try:
        if args.seeds > 1:
            sample = sampled(partial(numbers_of, arguments), args)
            if args.model:
                return foretold(sample, args)
            text, recovers = spread(sample), sample.share(lambda one: one[RECOVERS]) == 1
            outcome = rehearsed(args) if args.picture else None
        else:
            with live_counts() as watch:
                outcome = rehearsed(args, watch)
            one = Report(outcome, args.outage)
            text, recovers = one.text(), one.recovered is not None
    except (Misuse, ValueError) as error:
        notes: list[str] = getattr(error, "__notes__", [])
        seed = [f" ({note.removeprefix(NOTE).strip()})" for note in notes[:1]]
        print(f"{error}{''.join(seed)}", file=sys.stderr)
        return WRONG
    print(text)
    status = 0
    if outcome is not None:
        drawn = picture(outcome, args.outage, args.seed)
        status = pictured(partial(draw, drawn, "simulation"), args.picture)
    return status or (0 if recovers else FAILED)
