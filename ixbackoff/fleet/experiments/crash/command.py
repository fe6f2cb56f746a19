"""`python -m ixbackoff.fleet crash`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ...._commandline import number, whole
from ...slowing import SlowingServer
from ..experiment import Experiment
from .clients import CLIENTS, LINGERING
from .model import BACKLOGS, OUTAGE, STEADY, WATCH, Crash, crash
from .picture import draw
from .table import numbers, table


def flags(parser: ArgumentParser) -> None:
    """Describe the command, and add its flags."""
    parser.description = (
        'The simulation of "Exponential Backoff or how not to crash a server": a server stops for '
        "a while; clients wait 100 ms, or exponentially, as the post's text has it and as its "
        "program has it; and connections wait in accept queues of two lengths."
    )
    for name, seconds, read, what in (
        ("--steady", STEADY, whole(1, 3600), "whole seconds before the outage"),
        ("--outage", OUTAGE, number(0.1, 86_400), "of the outage"),
        ("--watch", WATCH, whole(1, 86_400), "whole seconds after it"),
    ):
        parser.add_argument(
            name,
            type=read,
            default=seconds,
            metavar="SECONDS",
            help=f"{what} (default: %(default)s)",
        )
    parser.add_argument(
        "--clients", type=whole(1, 100_000), default=CLIENTS, help="(default: %(default)s)"
    )
    parser.add_argument(
        "--backlog",
        type=whole(0, 65_535),
        action="append",
        help="length of an accept queue; can be given more than once (default: 128 and 4096)",
    )
    parser.add_argument(
        "--lingering",
        type=number(0, 3600),
        default=LINGERING,
        metavar="SECONDS",
        help="how long a dial goes on whose request was given up; 0 for clients that close their "
        "sockets (default: %(default)s, as in Go)",
    )
    parser.add_argument(
        "--int64",
        action="store_true",
        help="let a delay of the server overflow after 292 years, as in Go",
    )


def run(words: Namespace) -> list[Crash]:
    """Run the model, as the command line says."""
    return crash(
        words.outage,
        backlogs=words.backlog or BACKLOGS,
        clients=words.clients,
        steady=words.steady,
        watch=words.watch,
        server=SlowingServer(lingering=words.lingering, int64=words.int64),
        seed=words.seed,
    )


EXPERIMENT = Experiment("crash", flags, run, table, draw, numbers)
