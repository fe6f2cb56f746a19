"""`python -m ixbackoff.fleet recovery`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ...._commandline import number, whole
from ..experiment import Experiment
from .model import CLIENTS, LONGEST, OUTAGES, Comparison, recovery
from .picture import draw
from .table import numbers, table


def flags(parser: ArgumentParser) -> None:
    """Describe the command, and add its flags."""
    parser.description = (
        "When clients notice that an outage is over, whose waits are T * F^N, R * T * F^N and "
        "MIN(R * T * F^N, M), with R evenly between 1 and 2: in closed form, and simulated."
    )
    parser.add_argument(
        "--outage",
        type=number(1e-3, LONGEST),
        action="append",
        metavar="SECONDS",
        help="how long one is; can be given more than once (default: half a second to 10 minutes)",
    )
    for name, least, most, default, what in (
        ("--timeout", 1e-3, 3600, 1.0, "T, seconds"),
        ("--factor", 1.1, 10, 2.0, "F"),
        ("--maximum", 1e-3, 1e6, 60.0, "M, seconds"),
    ):
        parser.add_argument(
            name,
            type=number(least, most),
            default=default,
            metavar=what[0],
            help=f"{what} (default: %(default)g)",
        )
    parser.add_argument(
        "--clients", type=whole(1, 100_000), default=CLIENTS, help="(default: %(default)s)"
    )


def run(words: Namespace) -> list[Comparison]:
    """Run the model, as the command line says."""
    return recovery(
        words.outage or OUTAGES,
        timeout=words.timeout,
        factor=words.factor,
        maximum=words.maximum,
        clients=words.clients,
        seed=words.seed,
    )


EXPERIMENT = Experiment("recovery", flags, run, table, draw, numbers)
