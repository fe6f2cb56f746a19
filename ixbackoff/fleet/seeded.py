"""Many seeds on the command line: the flags, the progress, and the table of what varies."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from math import inf
from typing import TypeVar

from .._commandline import whole
from .samples import Sample
from .seeds import each_seed

R = TypeVar("R")
Numbers = Mapping[str, float | None]
"""What is compared from seed to seed, by name: numbers, or whether something is true."""
LABEL = 44
COLUMN = 10


def add_seeds(parser: ArgumentParser, default: int = 1, what: str = "how many seeds") -> None:
    """Add the flags that say with which seeds, and in how many processes."""
    parser.add_argument(
        "--seed", type=whole(0, 2**32), default=0, help="of the random numbers (default: 0)"
    )
    parser.add_argument(
        "--seeds",
        type=whole(1, 100_000),
        default=default,
        metavar="NUMBER",
        help=f"{what}, from --seed on (default: {default})",
    )
    parser.add_argument(
        "--jobs",
        type=whole(1, 1000),
        metavar="NUMBER",
        help="processes for many seeds (default: as many as there are processors)",
    )


def sampled(function: Callable[[int], R], words: Namespace) -> Sample[R]:
    """Call the function with each seed that the command line says; a terminal shows how many."""
    done = 0

    def watch(_seed: int, _result: R) -> None:
        nonlocal done
        done += 1
        print(f"\r{done} of {words.seeds} seeds", end="", file=sys.stderr, flush=True)

    shows = words.seeds > 1 and sys.stderr.isatty()
    try:
        return each_seed(
            function,
            range(words.seed, words.seed + words.seeds),
            jobs=words.jobs,
            watch=watch if shows else None,
        )
    finally:
        if done:
            print(file=sys.stderr)


def spread(sample: Sample[Numbers]) -> str:
    """A table of the least, the median and the most of each number, and of how often is true.

    >>> sample = Sample((0, 1, 2), ({"jobs": 5, "back": True}, {"jobs": 9, "back": True},
    ...     {"jobs": 7, "back": False}))
    >>> print(spread(sample))
    3 seeds                                          least    median      most
    jobs                                                 5         7         9
    back                                                                2 of 3
    """
    heads = ("least", "median", "most")
    lines = [
        f"{len(sample.seeds)} seeds".ljust(LABEL) + "".join(f"{one:>{COLUMN}}" for one in heads)
    ]
    for name, first in sample.results[0].items():

        def of(numbers: Numbers, name: str = name) -> float | None:
            return numbers[name]

        if isinstance(first, bool):
            told = f"{len(sample.where(of))} of {len(sample.seeds)}".rjust(3 * COLUMN)
        else:
            told = "".join(f"{written(sample.quantile(of, at)):>{COLUMN}}" for at in (0, 0.5, 1))
        lines.append(name.ljust(LABEL) + told)
    return "\n".join(lines)


def written(number: float) -> str:
    """Write a number with as many digits as it takes to compare it.

    >>> written(1353.5), written(7.25), written(9.0), written(float("inf"))
    ('1354', '7.2', '9', 'never')
    """
    if number == inf:
        return "never"
    return f"{number:.0f}" if number >= 100 or number == int(number) else f"{number:.1f}"
