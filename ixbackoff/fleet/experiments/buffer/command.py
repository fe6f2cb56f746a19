"""`python -m ixbackoff.fleet buffer`."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ...._commandline import number, whole
from ..experiment import Experiment
from .disk import Disk
from .model import PRODUCERS, SECONDS, Buffered, buffered
from .picture import draw
from .table import numbers, table


def flags(parser: ArgumentParser) -> None:
    """Describe the command, and add its flags."""
    parser.description = (
        'The disk buffer of "The Ethernet Approach to Grid Computing": how much is consumed, and '
        "how often a write finds the disk full, with producers that try again at once (fixed), "
        "with exponential waits (aloha), and that also look first how much is free (ethernet)."
    )
    parser.add_argument(
        "--producers",
        type=whole(1, 1000),
        action="append",
        metavar="NUMBER",
        help="how many; can be given more than once (default: six numbers, 5 to 50)",
    )
    parser.add_argument(
        "--speed",
        type=number(0.1, 1e6),
        default=Disk().speed,
        metavar="MB",
        help="that the disk reads and writes per second, in all (default: %(default)g)",
    )
    parser.add_argument(
        "--seconds", type=whole(1, 86_400), default=SECONDS, help="(default: %(default)s)"
    )


def run(words: Namespace) -> list[Buffered]:
    """Run the model, as the command line says."""
    return buffered(
        words.producers or PRODUCERS,
        seconds=words.seconds,
        disk=Disk(speed=words.speed),
        seed=words.seed,
    )


EXPERIMENT = Experiment("buffer", flags, run, table, draw, numbers)
