"""`python -m ixbackoff.fleet crash`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ...._commandline import whole
from ..experiment import Experiment
from .clients import CLIENTS
from .model import BACKLOGS, OUTAGE, STEADY, WATCH, Crash, crash
from .picture import draw
from .table import table


def flags(parser: ArgumentParser) -> None:
    """Describe the command, and add its flags."""
    parser.description = (
        'The simulation of "Exponential Backoff or how not to crash a server": a server stops for '
        "a while; clients wait 100 ms, or exponentially, as the post's text has it and as its "
        "program has it; and connections wait in accept queues of two lengths."
    )
    for name, seconds, most, what in (
        ("--steady", STEADY, 3600, "before the outage"),
        ("--outage", OUTAGE, 86_400, "of the outage"),
        ("--watch", WATCH, 86_400, "after it"),
    ):
        parser.add_argument(
            name,
            type=whole(1, most),
            default=seconds,
            metavar="SECONDS",
            help=f"whole seconds {what} (default: %(default)s)",
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


def run(words: Namespace) -> list[Crash]:
    """Run the model, as the command line says."""
    return crash(
        words.outage,
        backlogs=words.backlog or BACKLOGS,
        clients=words.clients,
        steady=words.steady,
        watch=words.watch,
        seed=words.seed,
    )


EXPERIMENT = Experiment("crash", flags, run, table, draw)
