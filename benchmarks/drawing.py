"""The lines of simulations: by second, by size, and summed up over many seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from ixbackoff.plotting.panels import Graph, Panel, Picture, draw
from ixbackoff.plotting.styles import line_style

__all__ = ["Graph", "Panel", "Picture", "draw"]
Average: TypeAlias = Callable[[Sequence[float]], float]
SAME_STYLE = """exponential; aloha; 1 layer; requests; Throttle(); Hedge(); bound
fixed; 2 layers; Throttle(1.5); last client
ethernet; budgets; budget, grpc; RetryBudget(10); 1 layer, grpc; answered in time; median
as shipped; three waits; decorrelated; 4 layers, finagle; one breaker, open 10 s
breakers; one breaker, open 2 s; breaker, 20 in 2 s; equal
full; 100 breakers, open 2 s
none; no limit; ladders alone; no hedge; 4 layers; capacity"""
STYLES = {one: k for k, row in enumerate(SAME_STYLE.split("\n")) for one in row.split("; ")}
"""The numbers of styles, by the names of lines: a line looks the same in all pictures."""


def by_second(
    lines: Mapping[str, Sequence[float]], styles: Iterable[int] = range(100)
) -> dict[str, Graph]:
    """Return lines with a value at the end of each second.

    Lines whose names are not in `STYLES` have the styles of the numbers `styles`.
    """
    return {
        name: Graph(range(1, len(line) + 1), line, line_style(STYLES.get(name, number), len(line)))
        for (name, line), number in zip(lines.items(), styles, strict=False)
    }


def by_size(points: Iterable[tuple[str, float, float]]) -> dict[str, Graph]:
    """Return a line for each name, through the points of that name: tuples of name, x and y."""
    lines: dict[str, tuple[list[float], list[float]]] = {}
    for name, *point in points:
        for numbers, one in zip(lines.setdefault(name, ([], [])), point, strict=True):
            numbers.append(one)
    return {
        name: Graph(*line, line_style(STYLES.get(name, number)))
        for number, (name, line) in enumerate(lines.items())
    }


def grid(
    headline: str,
    columns: Mapping[str, Mapping[str, Sequence[Sequence[float]]]],
    rows: Mapping[str, str],
    outage: tuple[str, tuple[float, float]],
    note: str = "",
) -> Picture:
    """Return a picture of counts of each second.

    `columns` has the lines of each column, by titles and names: a line has counts for each row.
    `rows` has the scale of each row, by its label.
    """
    panels = [
        [
            Panel(
                label,
                by_second({name: values[row] for name, values in lines.items()}),
                title="" if row else title,
                scale=scale,
                outage=outage,
            )
            for title, lines in columns.items()
        ]
        for row, (label, scale) in enumerate(rows.items())
    ]
    return Picture(headline, panels, (11.0, 6.0), note, shared=True)


def summary(pictures: Sequence[Picture], seeds: Sequence[int], average: Average) -> Picture:
    """Return the picture of all seeds: averages, and bands from the least to the greatest value.

    `{full:.0f}` in a headline becomes the last average of the line `full`, in its last panel.

    >>> lines = [by_second({"full": [y]}) for y in (1, 2, 6)]
    >>> pictures = [Picture("Up to {full:g}", [[Panel("y", one)]]) for one in lines]
    >>> picture = summary(pictures, range(3), max)
    >>> picture.headline, picture.panels[0][0].lines["full"].band
    ('Up to 6 (max of 3 seeds)', [(1, 6)])
    """

    def line(graphs: Sequence[Graph]) -> Graph:
        columns = [*zip(*(graph.y for graph in graphs), strict=True)]
        band = [(min(column), max(column)) for column in columns]
        return graphs[0]._replace(y=[*map(average, columns)], band=band)

    def panel(panels: Sequence[Panel]) -> Panel:
        first, many = panels[0], len(panels)
        head = "".join(first.title.partition(":\n")[:2])
        said = Counter(one for panel in panels for one in panel.title[len(head) :].split("; "))
        ends = [one if n == many else f"{one} in {n} of {many}" for one, n in said.most_common()]
        lines = {name: line([panel.lines[name] for panel in panels]) for name in first.lines}
        return first._replace(lines=lines, title=head + "; ".join(ends))

    grids = zip(*(picture.panels for picture in pictures), strict=True)
    rows = [[panel(panels) for panels in zip(*row, strict=True)] for row in grids]
    every = [line for row in rows for panel in row for line in panel.lines.items()]
    headline = pictures[0].headline.format(**{name: line.y[-1] for name, line in every})
    if len(pictures) == 1:
        return pictures[0]._replace(headline=f"{headline} (seed {seeds[0]})")
    text = f"{headline} ({average.__name__.removeprefix('f')} of {len(pictures)} seeds)"
    note = f"{pictures[0].note}\nBands: from the least to the greatest value among the seeds."
    return pictures[0]._replace(headline=text, panels=rows, note=note.strip())
