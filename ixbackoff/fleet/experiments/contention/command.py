"""`python -m ixbackoff.fleet contention`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ...._commandline import whole
from ..experiment import Experiment
from .model import CLIENTS, SEEDS, Contention, contention
from .picture import draw
from .table import table


def flags(parser: ArgumentParser) -> None:
    """Describe the command, and add its flags."""
    parser.description = (
        'The simulation of "Exponential Backoff And Jitter": many clients update one row, once '
        "each, with optimistic concurrency, and with five ways to wait after a conflict."
    )
    parser.add_argument(
        "--clients",
        type=whole(1, 1000),
        action="append",
        metavar="NUMBER",
        help="how many; can be given more than once (default: five numbers, 20 to 100)",
    )


def run(words: Namespace) -> list[Contention]:
    """Run the model, as the command line says."""
    return contention(words.clients or CLIENTS, seeds=words.seeds, seed=words.seed, jobs=words.jobs)


EXPERIMENT = Experiment("contention", flags, run, table, draw, seeds=SEEDS)
