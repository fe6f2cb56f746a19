"""One shape for all experiments, and the command line of each."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from ..._commandline import Parser
from ..drawing import add_picture, pictured
from ..seeded import Numbers, add_seeds, sampled, spread

R = TypeVar("R")


class Experiment(NamedTuple, Generic[R]):
    """An experiment: a model that is run, a table of its results, and a picture.

    Attributes:
        name: of the command.
        flags: describes the command, and adds its flags.
        run: runs the model, as the command line says.
        table: the results as text.
        draw: draws the results into a folder, and returns the files.
        numbers: what is compared if there are many seeds; `None`, if the table has them all.
        seeds: how many there are by default.
    """

    name: str
    flags: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], R]
    table: Callable[[R], str]
    draw: Callable[[R, Path], list[Path]]
    numbers: Callable[[R], Numbers] | None = None
    seeds: int = 1


def main(experiment: Experiment[R], arguments: list[str] | None = None) -> int:
    """Run an experiment: print its table, and draw it if a picture is wanted; the exit status."""
    words = parsed(experiment, arguments)
    if experiment.numbers is None or words.seeds == 1:
        results = experiment.run(words)
        print(experiment.table(results))
        return pictured(partial(experiment.draw, results), words.picture)
    print(spread(sampled(partial(numbers_of, experiment.name, arguments), words)))
    return pictured(lambda folder: experiment.draw(experiment.run(words), folder), words.picture)


def numbers_of(name: str, arguments: list[str] | None, seed: int) -> Numbers:
    """Run the experiment of this name with another seed: what is compared then."""
    experiment: Experiment[Any] = import_module(f"{__package__}.{name}.command").EXPERIMENT
    words = parsed(experiment, arguments)
    words.seed = seed
    return {} if experiment.numbers is None else experiment.numbers(experiment.run(words))


def parsed(experiment: Experiment[R], arguments: list[str] | None) -> Namespace:
    """Read the command line of an experiment; each has seeds, and can be drawn."""
    parser = Parser(
        prog=f"python -m ixbackoff.fleet {experiment.name}",
        epilog="Exit status: 0, or 2 if the command is wrong.",
    )
    experiment.flags(parser)
    add_seeds(parser, experiment.seeds)
    add_picture(parser)
    return parser.parse_args(arguments)
