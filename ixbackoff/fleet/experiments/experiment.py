"""`Experiment`: the parts of an experiment; and the command line and the table of all."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from ..._argument_parser import Flag, Parser, add_flags
from ...plotting.plot_command import pictured
from ..drawing import Picture, draw
from ..reports import PICTURE, Numbers, Report, sampled, seed_flags, spread
from ..seeds import each_seed

R = TypeVar("R")
K = TypeVar("K")
T = TypeVar("T")

Cells: TypeAlias = Mapping[str, object]
"""A row of a table: its cells by the headings of their columns.

Columns with the same text before ` | ` in their headings are a group, which has that text above it.
"""
Kinds: TypeAlias = Sequence[tuple[Any, ...]]  # the arguments of simulations, without the seed
NO_NUMBER = ("-", "never")  # the cells for a missing number


class Experiment(NamedTuple, Generic[R]):
    """An experiment: a model, the table of its results, and their picture.

    Attributes:
        model: runs the experiment; it has an argument for each flag, and `seed`.
        numbers: makes, of a result, its name and the numbers to compare between seeds; `None` for
            a model that takes `seeds` and `jobs` itself.
        seeds: the default number of seeds.
    """

    description: str
    model: Callable[..., Sequence[R]]
    flags: Sequence[Flag]
    rows: Callable[[Sequence[R]], Sequence[Cells]]
    picture: Callable[[Sequence[R]], Picture]
    numbers: Callable[[R], tuple[str, Numbers]] | None = None
    seeds: int = 1

    def table(self, results: Sequence[R]) -> str:
        return aligned(self.rows(results))

    def run(self, args: Namespace) -> Sequence[R]:
        given = [(flag.argument or flag.name, getattr(args, flag.name)) for flag in self.flags]
        how = {name: value for name, value in given if value is not None}
        if self.numbers is None:
            how |= {"seeds": args.seeds, "jobs": args.jobs}
        return self.model(**how, seed=args.seed)


def main(name: str, module: str, arguments: list[str]) -> int:
    """Run an experiment: print its table, draw it if a folder is given; return the exit status."""
    experiment = load(module)
    parser = Parser(
        prog=f"ixbackoff fleet {name}",
        description=experiment.description,
        epilog="Exit status: 0, or 2 if the command is wrong.",
    )
    add_flags(parser, [*experiment.flags, *seed_flags(experiment.seeds), PICTURE])
    args = parser.parse_args(arguments)
    results: Sequence[Any] = ()
    if experiment.numbers is None or args.seeds == 1:
        results = experiment.run(args)
        print(experiment.table(results))
    else:
        print(spread(sampled(partial(numbers_of, module, args), args)))

    def drawn(folder: Path) -> list[Path]:
        return draw(experiment.picture(results or experiment.run(args)), name, folder)

    return pictured(drawn, args.picture)


def load(module: str) -> Experiment[Any]:
    experiment: Experiment[Any] = import_module(f"{__package__}.{module}").EXPERIMENT
    return experiment


def numbers_of(module: str, args: Namespace, seed: int) -> Numbers:
    experiment = load(module)
    results = experiment.run(Namespace(**{**vars(args), "seed": seed}))
    named = map(experiment.numbers, results) if experiment.numbers else ()
    return {
        f"{label}  {what}": number for label, numbers in named for what, number in numbers.items()
    }


def with_seeds(
    simulated: Callable[..., R], kinds: Kinds, seeds: Iterable[int], jobs: int | None
) -> Iterator[tuple[R, ...]]:
    """Simulate all kinds with each seed; yield the results of each kind."""
    sample = each_seed(partial(with_seed, simulated, kinds), seeds, jobs=jobs)
    return zip(*sample.results, strict=True)


def with_seed(simulated: Callable[..., R], kinds: Kinds, seed: int) -> list[R]:
    return [simulated(*kind, seed) for kind in kinds]


def row_by_row(row: Callable[[R], Cells]) -> Callable[[Sequence[R]], Sequence[Cells]]:
    return lambda results: [*map(row, results)]


def grouped(results: Iterable[R], key: Callable[[R], K]) -> dict[K, list[R]]:
    groups: dict[K, list[R]] = {}
    for result in results:
        groups.setdefault(key(result), []).append(result)
    return groups


def shared(make: Callable[[], T], processes: int = 1) -> Callable[[int], T]:
    """Return a function from a client to the object of its process."""
    made = [make() for _ in range(processes)]
    return lambda client: made[client % processes]


def recovery_cells(report: Report, last: float) -> Cells:
    """Return the cells of successful runs per second before an outage and, `last`, at the end."""
    recovered = report.recovered
    recovers = "no" if recovered is None else f"after {recovered:.0f} s"
    return {
        "runs that end well/s | before": f"{report.before:.1f}",
        "runs that end well/s | end": f"{last:.1f}",
        "runs that end well/s | recovers": recovers,
    }


def aligned(rows: Sequence[Cells]) -> str:
    """Return rows as a table, with numbers at the right of their columns and text at the left.

    >>> print(aligned([{"waits": "full", "in ms | least": 7, "in ms | most": 9.5}]))
              in ms
    waits  least  most
    full       7   9.5
    """
    groups: list[tuple[str, int]] = []  # of each column, with its width
    columns: list[list[str]] = []
    for head in rows[0] if rows else ():
        group, _, name = head.rpartition(" | ")
        cells = [f"{row[head]}" for row in rows]
        width = max(map(len, [name, *cells]))
        justify = str.rjust if all(map(is_number, cells)) else str.ljust
        groups.append((group, width))
        columns.append([justify(cell, width) for cell in [name, *cells]])
    lines = ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]
    above = line_of_groups(groups)
    return "\n".join([above, *lines] if above else lines)


def line_of_groups(groups: Iterable[tuple[str, int]]) -> str:
    """Return the line of the groups' names, each at the middle of its columns."""
    line, place = "", 0
    for group, columns in groupby(groups, itemgetter(0)):
        whole = sum(width + 2 for _, width in columns)
        if group:
            start = max(place + (whole - 2 - len(group)) // 2, len(line) + 2 if line else 0)
            line = line.ljust(start) + group
        place += whole
    return line


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell in NO_NUMBER
    return True
