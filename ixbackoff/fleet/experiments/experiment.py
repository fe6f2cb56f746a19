"""One shape for all experiments, and the command line of each."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from ..._commandline import Parser, whole
from ..drawing import add_picture, pictured

R = TypeVar("R")


class Experiment(NamedTuple, Generic[R]):
    """An experiment: a model that is run, a table of its results, and a picture.

    Attributes:
        name: of the command.
        flags: describes the command, and adds its flags.
        run: runs the model, as the command line says.
        table: the results as text.
        draw: draws the results into a folder, and returns the files.
    """

    name: str
    flags: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], R]
    table: Callable[[R], str]
    draw: Callable[[R, Path], list[Path]]


def main(experiment: Experiment[R], arguments: list[str] | None = None) -> int:
    """Run an experiment: print its table, and draw it if a picture is wanted; the exit status."""
    words = parsed(experiment, arguments)
    results = experiment.run(words)
    print(experiment.table(results))
    return pictured(partial(experiment.draw, results), words.picture)


def parsed(experiment: Experiment[R], arguments: list[str] | None) -> Namespace:
    """Read the command line of an experiment; each has a seed, and can be drawn."""
    parser = Parser(
        prog=f"python -m ixbackoff.fleet {experiment.name}",
        epilog="Exit status: 0, or 2 if the command is wrong.",
    )
    experiment.flags(parser)
    parser.add_argument(
        "--seed", type=whole(0, 2**32), default=0, help="of the random numbers (default: 0)"
    )
    add_picture(parser)
    return parser.parse_args(arguments)
