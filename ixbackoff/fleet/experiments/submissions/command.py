"""`python -m ixbackoff.fleet submissions`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ...._commandline import whole
from ..experiment import Experiment
from .model import SECONDS, SUBMITTERS, Submissions, submissions
from .picture import draw
from .table import numbers, table


def flags(parser: ArgumentParser) -> None:
    """Describe the command, and add its flags."""
    parser.description = (
        'The job submission of "The Ethernet Approach to Grid Computing": how many jobs are taken '
        "from submitters that try again at once (fixed), with exponential waits (aloha), and that "
        "also look first whether file descriptors are free (ethernet)."
    )
    parser.add_argument(
        "--submitters",
        type=whole(1, 10_000),
        action="append",
        metavar="NUMBER",
        help="how many; can be given more than once (default: nine numbers, 25 to 500)",
    )
    parser.add_argument(
        "--seconds", type=whole(1, 86_400), default=SECONDS, help="(default: %(default)s)"
    )


def run(words: Namespace) -> list[Submissions]:
    """Run the model, as the command line says."""
    return submissions(words.submitters or SUBMITTERS, seconds=words.seconds, seed=words.seed)


EXPERIMENT = Experiment("submissions", flags, run, table, draw, numbers)
