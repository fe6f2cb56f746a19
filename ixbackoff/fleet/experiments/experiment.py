"""`Experiment`: the parts of an experiment; and the command line and the table of all."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from ..._argument_parser import Flag, Parser, add_flags
from ...plotting.plot_command import pictured
from ..drawing import Picture, draw
from ..flags import add_picture, add_seeds
from ..reports import Numbers, sampled, spread
from ..seeds import each_seed

R = TypeVar("R")

Cells: TypeAlias = Mapping[str, object]
"""A row of a table: its cells by the headings of their columns.

Columns with the same text before ` | ` in their headings are a group, which has that text above it.
"""
NO_NUMBER = ("-", "never")
"""The cells for a missing number."""


class Experiment(NamedTuple, Generic[R]):
    """An experiment: a model, the table of its results, and their picture.

    Attributes:
        model: runs the experiment; it has an argument for each flag, and `seed`.
        numbers: makes, of a result, its name and the numbers to compare between seeds; `None` for
            a model that takes `seeds` and `jobs` itself.
        seeds: the default number of seeds.
    """

    module: str
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
        values = {flag.argument or flag.name: getattr(args, flag.name) for flag in self.flags}
        how = {name: value for name, value in values.items() if value is not None}
        if self.numbers is None:
            how |= {"seeds": args.seeds, "jobs": args.jobs}
        return self.model(**how, seed=args.seed)


def main(name: str, module: str, arguments: list[str] | None = None) -> int:
    """Run an experiment: print its table, draw it if a folder is given; return the exit status."""
    experiment = load(module)
    args = parsed(name, experiment, arguments)
    results: Sequence[Any] = ()
    if experiment.numbers is None or args.seeds == 1:
        results = experiment.run(args)
        print(experiment.table(results))
    else:
        print(spread(sampled(partial(numbers_of, name, module, arguments), args)))

    def drawn(folder: Path) -> list[Path]:
        return draw(experiment.picture(results or experiment.run(args)), name, folder)

    return pictured(drawn, args.picture)


def load(module: str) -> Experiment[Any]:
    experiment: Experiment[Any] = import_module(f"{__package__}.{module}").EXPERIMENT
    return experiment


def numbers_of(name: str, module: str, arguments: list[str] | None, seed: int) -> Numbers:
    experiment = load(module)
    args = parsed(name, experiment, arguments)
    args.seed = seed
    named = map(experiment.numbers, experiment.run(args)) if experiment.numbers else ()
    return {
        f"{label}  {what}": number for label, numbers in named for what, number in numbers.items()
    }


def parsed(name: str, experiment: Experiment[Any], arguments: list[str] | None) -> Namespace:
    parser = Parser(
        prog=f"ixbackoff fleet {name}",
        description=experiment.description,
        epilog="Exit status: 0, or 2 if the command is wrong.",
    )
    add_flags(parser, experiment.flags)
    add_seeds(parser, experiment.seeds)
    add_picture(parser)
    return parser.parse_args(arguments)


def with_seeds(
    simulated: Callable[..., R],
    kinds: Sequence[tuple[Any, ...]],
    seeds: Iterable[int],
    jobs: int | None,
) -> Iterator[tuple[R, ...]]:
    """Simulate all kinds, given by their arguments, with each seed; yield the results of each."""
    sample = each_seed(partial(with_seed, simulated, kinds), seeds, jobs=jobs)
    return zip(*sample.results, strict=True)


def with_seed(simulated: Callable[..., R], kinds: Sequence[tuple[Any, ...]], seed: int) -> list[R]:
    return [simulated(*kind, seed) for kind in kinds]


def row_by_row(row: Callable[[R], Cells]) -> Callable[[Sequence[R]], Sequence[Cells]]:
    return lambda results: [*map(row, results)]


def recovery_cells(before: float, last: float, recovered: float | None) -> Cells:
    """Return the cells of successful runs per second before an outage and at the end."""
    group = "runs that end well/s | "
    recovers = "no" if recovered is None else f"after {recovered:.0f} s"
    cells = {"before": f"{before:.1f}", "end": f"{last:.1f}", "recovers": recovers}
    return {f"{group}{name}": cell for name, cell in cells.items()}


def aligned(rows: Sequence[Cells]) -> str:
    """Return rows as a table, with numbers at the right of their columns and text at the left.

    >>> print(aligned([{"waits": "full", "in ms | least": 7, "in ms | most": 9.5}]))
              in ms
    waits  least  most
    full       7   9.5
    """
    heads = [*rows[0]] if rows else []
    cells = [[f"{row[head]}" for head in heads] for row in rows]
    groups = [head.rpartition(" | ")[0] for head in heads]
    names = [head.rpartition(" | ")[2] for head in heads]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    right = [all(map(is_number, column)) for column in zip(*cells, strict=True)]
    lines = [[*names], *cells]
    text = [
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    ]
    return "\n".join([line_of_groups(groups, widths), *text] if any(groups) else text)


def line_of_groups(groups: Sequence[str], widths: Sequence[int]) -> str:
    """Return the line of the groups' names, each at the middle of its columns."""
    line, place = "", 0
    for column, (group, width) in enumerate(zip(groups, widths, strict=True)):
        if group and (column == 0 or groups[column - 1] != group):
            last = column
            while last + 1 < len(groups) and groups[last + 1] == group:
                last += 1
            whole = sum(widths[column : last + 1]) + 2 * (last - column)
            start = max(place + (whole - len(group)) // 2, len(line) + 2 if line else 0)
            line = line.ljust(start) + group
        place += width + 2
    return line


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell in NO_NUMBER
    return True
