"""`python -m ixbackoff.fleet blackhole`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ...._commandline import whole
from ..experiment import Experiment
from .model import READERS, SECONDS, Reading, black_hole
from .picture import draw
from .table import numbers, table


def flags(parser: ArgumentParser) -> None:
    """Describe the command, and add its flags."""
    parser.description = (
        'The black hole of "The Ethernet Approach to Grid Computing": how many files are read '
        "from three servers, one of which never answers, by readers that wait for ever (fixed), "
        "for a minute (aloha), and that also fetch one byte before (ethernet)."
    )
    for name, most, default in ("--seconds", 86_400, SECONDS), ("--readers", 1000, READERS):
        parser.add_argument(
            name, type=whole(1, most), default=default, help="(default: %(default)s)"
        )


def run(words: Namespace) -> list[Reading]:
    """Run the model, as the command line says."""
    return black_hole(words.seconds, readers=words.readers, seed=words.seed)


EXPERIMENT = Experiment("blackhole", flags, run, table, draw, numbers)
