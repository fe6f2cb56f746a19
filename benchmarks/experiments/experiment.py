"""`Experiment`: the parts of an experiment; and the command and the table of each."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from inspect import signature
from math import inf, isinf
from pathlib import Path
from statistics import median
from typing import Annotated, Any, Generic, NamedTuple, TypeAlias, TypeVar, get_origin

from ixbackoff import Command
from ixbackoff._argument_parser import Flag, Parser, add_flags
from ixbackoff.fleet import Outage, Outcome
from ixbackoff.fleet.reports import PICTURE, sampled, seed_flags
from ixbackoff.plotting.plot_command import pictured

from ..drawing import Average, Picture, draw, summary

R = TypeVar("R")
K = TypeVar("K")
T = TypeVar("T")

Cells: TypeAlias = Mapping[str, object]
"""A row of a table: its cells by the headings of their columns.

Columns with the same text before ` | ` in their headings are a group, which has that text above it.
Cells that are numbers or `Shown` are averaged over seeds.
"""
NO_NUMBER = ("-", "never")  # the cells for a missing number
SHARE, SPAN = 0.8, 10
"""A service has recovered when from then on any 10 s have this share of the rate before the outage.
Chance alone can lower the rate by 10 %."""


class Ask(Command[None]):
    """A request to the service of an experiment."""

    __slots__ = ()


class Shown(NamedTuple):
    """A number in a cell, and its format; `None` has the text `missing`."""

    number: float | None
    format: str = "{:.0f}"
    missing: str = "never"


class Watched(NamedTuple):
    """A simulation with an outage."""

    outcome: Outcome
    stopped: Outage

    @property
    def well(self) -> list[int]:
        """The runs that succeeded in each second."""
        return [second.well for second in self.outcome.seconds]

    @property
    def before(self) -> float:
        """The successful runs per second, in the second half of the time before the outage."""
        begin = int(self.stopped.start)
        return self.outcome.rate(lambda second: second.well, begin // 2, begin)

    @property
    def recovered(self) -> float | None:
        """The seconds after the outage until the service has recovered; `None` if it does not."""
        end = self.stopped.span[1]
        return self.outcome.recovered_after(end, self.before, SHARE, SPAN) if self.before else None


class Experiment(NamedTuple, Generic[R]):
    """An experiment: a model, the table of its results, and their picture.

    The annotated parameters of the model are the flags of the command, with the parser of their
    text, a description and a unit. The model has a parameter `seed`, too.
    """

    model: Callable[..., Sequence[R]]
    row: Callable[[R], Cells]  # results with the same name share a row
    picture: Callable[[Sequence[R]], Picture]  # of the results with one seed
    names: int = 1  # the number of columns that name a row
    seeds: int = 1  # the default number of seeds
    average: Average | None = None  # of seeds; `None`: tables of least, median, greatest

    def rows(self, results: Iterable[R]) -> list[Cells]:
        rows: dict[tuple[object, ...], dict[str, object]] = {}
        for cells in map(self.row, results):
            rows.setdefault((*cells.values(),)[: self.names], {}).update(cells)
        return [*rows.values()]


def run(name: str, module: str, arguments: list[str]) -> int:
    """Run an experiment: print its table, draw it if a folder is given; return the exit status."""
    experiment = load(module)
    parser = Parser(
        prog=f"python -m benchmarks.experiments {name}",
        description=import_module(f"{__package__}.{module}").__doc__,
        epilog="Exit status: 0, or 2 if the command is wrong.",
    )
    for flag, declared in flags(experiment.model).items():
        add_flag(parser, flag, *declared)
    add_flags(parser, [*seed_flags(experiment.seeds), PICTURE])
    args = parser.parse_args(arguments)
    sample = sampled(partial(simulated, module, args), args)
    tables, pictures = zip(*sample.results, strict=True)
    if args.seeds == 1 or experiment.average:
        print(aligned(averaged(tables, experiment.average or median)))
    else:
        for what, average in (("the least", min), ("the median", median), ("the greatest", max)):
            print(f"{args.seeds} seeds, {what} of each number:")
            print(aligned(averaged(tables, average)))

    def drawn(folder: Path) -> list[Path]:
        return draw(summary(pictures, sample.seeds, experiment.average or median), name, folder)

    return pictured(drawn, args.picture)


def load(module: str) -> Experiment[Any]:
    experiment: Experiment[Any] = import_module(f"{__package__}.{module}").EXPERIMENT
    return experiment


def flags(model: Callable[..., Any]) -> dict[str, tuple[Any, ...]]:
    """Return the default and the annotations of each flag of a model."""
    return {
        name: (parameter.default, *parameter.annotation.__metadata__)
        for name, parameter in signature(model, eval_str=True).parameters.items()
        if get_origin(parameter.annotation) is Annotated
    }


def add_flag(
    parser: Parser,
    name: str,
    default: Any,
    read: Callable[[str], object],
    text: str,
    unit: str = "NUMBER",
) -> None:
    """Add a flag, which can be repeated if its default is a tuple."""
    if isinstance(default, tuple):
        text = f"{text}; can be repeated (default: {', '.join(map(str, default))})"
        parser.add_argument(f"--{name}", action="append", type=read, metavar=unit, help=text)
    else:
        add_flags(parser, [Flag(name, default, read, text, unit)])


def simulated(module: str, args: Namespace, seed: int) -> tuple[list[Cells], Picture | None]:
    experiment = load(module)
    given = {flag: getattr(args, flag) for flag in flags(experiment.model)}
    how = {name: value for name, value in given.items() if value is not None}
    results = experiment.model(**how, seed=seed)
    return experiment.rows(results), experiment.picture(results) if args.picture else None


def averaged(tables: Sequence[Sequence[Cells]], average: Average) -> list[Cells]:
    """Average tables cell by cell; count the seeds of truth values and of texts that differ."""

    def cell(some: Sequence[Any]) -> object:
        first = some[0]
        if isinstance(first, bool):
            return f"{sum(some)} of {len(some)}" if len(some) > 1 else first
        if isinstance(first, Shown):
            number = average([inf if one.number is None else one.number for one in some])
            return first._replace(number=None if isinf(number) else number)
        if isinstance(first, int | float):
            return average(some) if isinstance(first, float) else Shown(average(some))
        common, count = Counter(some).most_common(1)[0]
        return first if count == len(some) else f"{common}, {count} of {len(some)}"

    return [
        {head: cell([row[head] for row in rows]) for head in rows[0]}
        for rows in zip(*tables, strict=True)
    ]


def grouped(results: Iterable[R], key: Callable[[R], K]) -> dict[K, list[R]]:
    groups: dict[K, list[R]] = {}
    for result in results:
        groups.setdefault(key(result), []).append(result)
    return groups


def shared(make: Callable[[], T], processes: int = 1) -> Callable[[int], T]:
    """Return a function from a client to the object of its process."""
    made = [make() for _ in range(processes)]
    return lambda client: made[client % processes]


def recovery_cells(watched: Watched) -> Cells:
    """Return the cells of successful runs per second: before an outage, and at the end."""
    end, last = int(watched.stopped.span[1]), len(watched.well)
    rate = watched.outcome.rate(lambda second: second.well, end + (last - end) * 3 // 4, last)
    return {
        "runs that end well/s | before": watched.before,
        "runs that end well/s | end": rate,
        "runs that end well/s | recovers": Shown(watched.recovered, "after {:.0f} s", "no"),
    }


def aligned(rows: Sequence[Cells]) -> str:
    """Return rows as a table, with numbers at the right of their columns and text at the left.

    >>> print(aligned([{"waits": "full", "in ms | least": 7, "in ms | most": 9.5}]))
              in ms
    waits  least  most
    full       7   9.5
    """
    blocks: list[list[str]] = []
    groups = grouped(rows[0] if rows else (), lambda head: head.rpartition(" | ")[0] or head)
    for group, heads in groups.items():
        columns = [
            justified([head.rpartition(" | ")[2], *(text(row[head]) for row in rows)])
            for head in heads
        ]
        lines = ["  ".join(line) for line in zip(*columns, strict=True)]
        above = group if group not in heads else ""
        width = max(len(above), len(lines[0]))
        start = " " * ((width - len(above)) // 2)
        blocks.append([line.ljust(width) for line in (start + above, *lines)])
    table = ["  ".join(line).rstrip() for line in zip(*blocks, strict=True)]
    return "\n".join(table if any(table[:1]) else table[1:])


def justified(cells: Sequence[str]) -> list[str]:
    """Return the cells of a column, below its heading, with the same width."""
    width = max(map(len, cells))
    justify = str.rjust if all(map(is_number, cells[1:])) else str.ljust
    return [justify(cell, width) for cell in cells]


def text(cell: object) -> str:
    """Return a cell as text: a float with one decimal, a truth value as `yes` or `no`."""
    if isinstance(cell, Shown):
        return cell.missing if cell.number is None else cell.format.format(cell.number)
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return f"{cell:.1f}" if isinstance(cell, float) else f"{cell}"


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell in NO_NUMBER
    return True
