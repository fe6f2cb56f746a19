"""`python -m ixbackoff.fleet layers`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ...._commandline import number, whole
from ..experiment import Experiment
from .model import CLIENTS, LAYERS, OUTAGE, QUEUES, WATCH, Layered, layered
from .picture import draw
from .table import numbers, table


def flags(parser: ArgumentParser) -> None:
    """Describe the command, and add its flags."""
    parser.description = (
        "How retries in nested layers multiply while the service at the bottom is down, and "
        "whether it comes back: against one layer, with and without a budget; with a short queue "
        "at the bottom and with a long one."
    )
    for name, least, most, default, what in (
        ("--layers", 1, 5, LAYERS, "how many, at most"),
        ("--clients", 1, 10_000, CLIENTS, "how many; the bottom grows with them"),
        ("--outage", 2, 3600, OUTAGE, "its whole seconds"),
        ("--watch", 10, 3600, WATCH, "whole seconds after it"),
    ):
        parser.add_argument(
            name, type=whole(least, most), default=default, help=f"{what} (default: %(default)s)"
        )
    parser.add_argument(
        "--queue",
        type=number(0, 3600),
        action="append",
        metavar="SECONDS",
        help="how long a request waits at the bottom, if its queue is full; can be given more "
        "than once (default: 0.3 and 6)",
    )


def run(words: Namespace) -> list[Layered]:
    """Run the model, as the command line says."""
    return layered(
        words.layers,
        queues=words.queue or QUEUES,
        clients=words.clients,
        outage=words.outage,
        watch=words.watch,
        seed=words.seed,
    )


EXPERIMENT = Experiment("layers", flags, run, table, draw, numbers)
