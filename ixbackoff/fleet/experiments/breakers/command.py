"""`python -m ixbackoff.fleet breakers`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ...._commandline import whole
from ..experiment import Experiment
from .model import CLIENTS, OPENING, OUTAGE, PROCESSES, WATCH, Guarded, guarded
from .picture import draw
from .table import numbers, table


def flags(parser: ArgumentParser) -> None:
    """Describe the command, and add its flags."""
    parser.description = (
        "How often clients ask a service that is down, and whether it comes back: with a circuit "
        "breaker for all, with one for each process, with a budget, and with their ladders only."
    )
    for name, least, most, default, what in (
        ("--clients", 1, 100_000, CLIENTS, "how many; the service grows with them"),
        ("--processes", 1, 10_000, PROCESSES, "of which each has a breaker, in the last line"),
        ("--outage", OPENING + 1, 3600, OUTAGE, "its whole seconds"),
        ("--watch", 10, 3600, WATCH, "whole seconds after it"),
    ):
        parser.add_argument(
            name, type=whole(least, most), default=default, help=f"{what} (default: %(default)s)"
        )


def run(words: Namespace) -> list[Guarded]:
    """Run the model, as the command line says."""
    return guarded(
        clients=words.clients,
        processes=words.processes,
        outage=words.outage,
        watch=words.watch,
        seed=words.seed,
    )


EXPERIMENT = Experiment("breakers", flags, run, table, draw, numbers)
