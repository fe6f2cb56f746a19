"""`simulate` on the command line: your own program, and a service that stops."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from ..budgets import Budget
from ..chains import Ladder
from ..commands import Command, Misuse
from ..schedules import Timing, powers_of_two
from .outcomes import Outcome, Second
from .post import PostServer
from .queues import BoundedQueue
from .services import Served, Service
from .simulation import Outage, simulate
from .words import FAILED, WRONG, Parser, number, whole

BUDGETS: dict[str, Callable[[], Budget]] = {
    "botocore": Budget.botocore,
    "grpc": Budget.grpc,
    "finagle": Budget.finagle,
}


def found(text: str) -> Any:
    """What `module:name` names.

    >>> found("ixbackoff.schedules:powers_of_two")
    Exponential(base=1.0, factor=2.0, cap=None)

    Raises:
        ArgumentTypeError: there is no such module, or no such name in it.
    """
    module, _, name = text.partition(":")
    if not module or not name:
        raise ArgumentTypeError(f"{text}: write MODULE:NAME")
    if "" not in sys.path:
        sys.path.insert(0, "")  # as `python -m` does: what stands in this folder
    try:
        names: dict[str, object] = vars(import_module(module))
    except Exception as error:  # it may be a module with any fault
        raise ArgumentTypeError(f"{text}: {' '.join(str(error).split())}") from None
    if name not in names:
        raise ArgumentTypeError(f"{text}: the module has no {name}")
    return names[name]


def program(text: str) -> Any:
    """A program, or a function that makes one of the number of a client."""
    named = found(text)
    if not isinstance(named, Ladder) and not callable(named):
        raise ArgumentTypeError(f"{text} is no program, but {named!r}")
    return named


def timing(text: str) -> Timing:
    """A schedule, or one that shortens."""
    named = found(text)
    if not isinstance(named, Timing):
        raise ArgumentTypeError(f"{text} is no schedule, but {named!r}")
    return named


def outage(text: str) -> Outage:
    """When it begins, and how long it is.

    >>> outage("15:20")
    Outage(start=15.0, length=20.0)
    """
    start, _, length = text.partition(":")
    try:
        return Outage(float(start), float(length))
    except ValueError:
        raise ArgumentTypeError(f"{text}: write START:LENGTH, in seconds, such as 15:20") from None


def service(words: Namespace) -> Service:
    """The service that the command line describes."""
    if words.service == "post":
        return PostServer(backlog=words.backlog)
    return BoundedQueue(words.queue, words.time, words.workers)


def parsed(arguments: list[str] | None) -> Namespace:
    """The command line's words."""
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
        help="a program, or a function from the number of a client to one; every command of it "
        "that nobody else answers is asked of the service",
    )
    parser.add_argument("--clients", type=whole(1, 1_000_000), default=1000, help="(default: 1000)")
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
    parser.add_argument(
        "--service",
        choices=("post", "queue"),
        default="queue",
        help="post: gets slower, the more it has to do, as the post's server; queue: some workers "
        "and a queue, and what finds it full is refused at once (default: queue)",
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
        help="queue: of work for a request (0.1)",
    )
    parser.add_argument(
        "--schedule", type=timing, default=powers_of_two, metavar="MODULE:NAME", help="its waits"
    )
    parser.add_argument(
        "--within", type=number(1e-6, 1e9), metavar="SECONDS", help="that each run has in all"
    )
    parser.add_argument("--budget", choices=BUDGETS, help="of each client")
    parser.add_argument(
        "--seed", type=whole(0, 2**32), default=0, help="of the random numbers (default: 0)"
    )
    parser.add_argument(
        "--picture", type=Path, metavar="FOLDER", help="draw it there, too; needs matplotlib"
    )
    return parser.parse_args(arguments)


def rehearsed(words: Namespace, watch: Callable[[int, Second], None] | None = None) -> Outcome:
    """The simulation that the command line describes."""
    services: Served[Any] = service(words).serves(Command)
    budgets: dict[int, Budget] = {}

    def budget(client: int) -> Budget:
        if client not in budgets:
            budgets[client] = BUDGETS[words.budget]()
        return budgets[client]

    return simulate(
        words.program,
        services,
        clients=words.clients,
        seconds=words.seconds,
        schedule=words.schedule,
        within=words.within,
        budget=budget if words.budget else None,
        think=words.think,
        outages=[words.outage],
        seed=words.seed,
        watch=watch,
    )


def report(outcome: Outcome, stopped: Outage) -> tuple[str, bool]:
    """What came out, in some lines; and whether the service came back."""
    begin, end = int(stopped.start), int(stopped.start + stopped.length)
    before = outcome.rate(lambda second: second.well, begin // 2, begin)
    after = outcome.rate(lambda second: second.well, end, len(outcome.seconds))
    ended = outcome.total(lambda second: second.well + second.gave_up)
    gave_up = outcome.total(lambda second: second.gave_up)
    recovered = outcome.recovered_after(end, before) if before else None
    asked = [second.asked for second in outcome.seconds]
    most = max(range(len(asked)), key=asked.__getitem__)
    lines = [
        f"goodput    {before:.1f}/s before the outage, {after:.1f}/s after it",
        f"load       {outcome.rate(lambda second: second.asked, begin // 2, begin):.1f} requests/s "
        f"before, {asked[most]} at most, in second {most}",
        f"recovery   after {recovered:.0f} s"
        if recovered is not None
        else "recovery   not before the simulation ended",
        f"gave up    {gave_up / max(ended, 1):.1%} of {ended:.0f} runs",
        f"events     {outcome.events}",
    ]
    return "\n".join(lines), recovered is not None


def live(second: int, what: Second) -> None:
    """One line on the terminal, written over and over."""
    line = (
        f"{second:6} s  {what.asked:6} asked/s  {what.well:6} well/s  {what.gave_up:5} gave up/s  "
        f"{what.load:8.0f} in the service"
    )
    print(f"\r{line}", end="", file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Simulate what the command line describes, and say what came out; the exit status."""
    words = parsed(arguments)
    terminal = sys.stderr.isatty()
    try:
        outcome = rehearsed(words, live if terminal else None)
        if terminal:
            print(file=sys.stderr)
        text, recovers = report(outcome, words.outage)
        print(text)
        if words.picture is not None:
            from .rehearsal_pictures import draw

            print(*draw(outcome, words.outage, words.picture), sep="\n")
    except OSError as error:
        print(
            f"{error.filename or words.picture} cannot be used: {error.strerror}.", file=sys.stderr
        )
        return WRONG
    except (ImportError, Misuse, ValueError) as error:
        print(f"{error}", file=sys.stderr)
        return WRONG
    return 0 if recovers else FAILED


if __name__ == "__main__":
    sys.exit(main())
