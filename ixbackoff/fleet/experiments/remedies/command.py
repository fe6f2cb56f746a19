"""`python -m ixbackoff.fleet remedies`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ...._commandline import whole
from ..crash.clients import CLIENTS
from ..experiment import Experiment
from .model import BACKLOGS, OUTAGE, SEEDS, WATCH, Remedied, remedied
from .picture import draw
from .table import table


def flags(parser: ArgumentParser) -> None:
    """Describe the command, and add its flags."""
    parser.description = (
        "What would have saved the server of the crash: with each remedy, whether it comes back "
        "after an outage, for accept queues of two lengths."
    )
    for name, least, most, default, what in (
        ("--outage", 1, 86_400, OUTAGE, "whole seconds of the outage"),
        ("--watch", 4, 86_400, WATCH, "whole seconds after it"),
        ("--clients", 1, 100_000, CLIENTS, "how many"),
    ):
        parser.add_argument(
            name, type=whole(least, most), default=default, help=f"{what} (default: %(default)s)"
        )
    parser.add_argument(
        "--backlog",
        type=whole(0, 65_535),
        action="append",
        help="length of an accept queue; can be given more than once (default: 128 and 4096)",
    )


def run(words: Namespace) -> list[Remedied]:
    """Run the model, as the command line says."""
    return remedied(
        words.outage,
        backlogs=words.backlog or BACKLOGS,
        clients=words.clients,
        watch=words.watch,
        seeds=words.seeds,
        seed=words.seed,
        jobs=words.jobs,
    )


EXPERIMENT = Experiment("remedies", flags, run, table, draw, seeds=SEEDS)
