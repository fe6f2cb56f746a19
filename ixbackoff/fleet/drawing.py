"""`Picture`: a grid of panels with lines, drawn as PNG and SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from ..plotting.styles import THINGS, headline, line_style, plain, saved_figure

LINEAR_BELOW = 10  # of a symlog axis
LINE = 12.0  # points from a label to the next
Average: TypeAlias = Callable[[Sequence[float]], float]


class Graph(NamedTuple):
    """A line of a panel; `style` has arguments of matplotlib's `plot`."""

    x: Sequence[float]
    y: Sequence[float]
    style: Mapping[str, Any]
    band: Sequence[tuple[float, float]] = ()  # the least and the greatest y of many seeds


class Panel(NamedTuple):
    """A part of a picture, with axes of its own."""

    label: str  # the name of the vertical axis
    lines: Mapping[str, Graph]  # by their labels; those that begin with "_" have none
    x: str = "time, s"  # the name of the horizontal axis
    title: str = ""
    scale: str = "linear"  # of the vertical axis: "linear", "log" or "symlog"
    x_scale: str = "linear"
    limits: tuple[float | None, float | None] = (None, None)  # `None`: the ends of the data
    outage: tuple[str, tuple[float, float]] | None = None  # its name, and its span


class Picture(NamedTuple):
    """A grid of panels."""

    headline: str
    panels: Sequence[Sequence[Panel]]  # its panels, row by row
    inches: tuple[float, float] = (10.0, 4.5)
    shared: bool = False  # whether panels share axes: all their x, those of a row their y


def style_of(name: str, number: int, points: int = 0) -> dict[str, Any]:
    return line_style(THINGS.get(name, number), points)


def by_second(
    lines: Mapping[str, Sequence[float]], styles: Iterable[int] = range(100)
) -> dict[str, Graph]:
    """Return lines with a value at the end of each second.

    Lines whose names are not in `THINGS` have the styles of the numbers `styles`.
    """
    return {
        name: Graph(range(1, len(line) + 1), line, style_of(name, number, len(line)))
        for (name, line), number in zip(lines.items(), styles, strict=False)
    }


def by_size(points: Iterable[tuple[str, float, float]]) -> dict[str, Graph]:
    """Return a line for each name, through the points of that name: tuples of name, x and y."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for name, x, y in points:
        lines.setdefault(name, []).append((x, y))
    return {
        name: Graph([x for x, _ in line], [y for _, y in line], style_of(name, number))
        for number, (name, line) in enumerate(lines.items())
    }


def summary(pictures: Sequence[Picture], seeds: Sequence[int], average: Average) -> Picture:
    """Return the picture of all seeds: averages, and bands from the least to the greatest value.

    >>> pictures = [Picture("More", [[Panel("y", by_second({"full": [y]}))]]) for y in (1, 2, 6)]
    >>> picture = summary(pictures, range(3), max)
    >>> picture.headline, picture.panels[0][0].lines["full"].band
    ('More (max of 3 seeds)', [(1, 6)])
    """

    def line(graphs: Sequence[Graph]) -> Graph:
        columns = [*zip(*(graph.y for graph in graphs), strict=True)]
        band = [(min(column), max(column)) for column in columns]
        return graphs[0]._replace(y=[*map(average, columns)], band=band)

    def panel(panels: Sequence[Panel]) -> Panel:
        first = panels[0]
        same = all(panel.title == first.title for panel in panels)
        lines = {name: line([panel.lines[name] for panel in panels]) for name in first.lines}
        return first._replace(lines=lines, title=first.title if same else "")

    if len(pictures) == 1:
        return pictures[0]._replace(headline=f"{pictures[0].headline} (seed {seeds[0]})")
    rows = [
        [panel(panels) for panels in zip(*row, strict=True)]
        for row in zip(*(picture.panels for picture in pictures), strict=True)
    ]
    name = average.__name__.removeprefix("f")
    text = f"{pictures[0].headline} ({name} of {len(pictures)} seeds)"
    return pictures[0]._replace(headline=text, panels=rows)


def draw(picture: Picture, name: str, folder: Path) -> list[Path]:
    """Draw a picture as `folder/name.png` and `.svg`; create the folder if it is missing."""
    shape = len(picture.panels), len(picture.panels[0])
    sharing: dict[str, Any] = {"sharex": True, "sharey": "row"} if picture.shared else {}
    with saved_figure(folder, name, picture.inches) as (figure, files):
        headline(figure, picture.headline)
        axes = figure.subplots(*shape, squeeze=False, **sharing)
        for row, panels in enumerate(picture.panels):
            for column, panel in enumerate(panels):
                plot = axes[row][column]
                draw_panel(plot, panel)
                if column == 0 or not picture.shared:
                    plot.set_ylabel(panel.label)
                if row == shape[0] - 1 or not picture.shared:
                    plot.set_xlabel(panel.x)
        gap = LINE / (0.75 * 72 * picture.inches[1] / shape[0])
        for row, panels in enumerate(picture.panels):
            for column, panel in enumerate(panels):
                label_lines(axes[row][column], panel.lines, gap)
    return files


def draw_panel(plot: Any, panel: Panel) -> None:
    """Draw a panel on the axes `plot`, without the names of the axes and lines."""
    for line in panel.lines.values():
        plot.plot(line.x, line.y, **line.style)
        if any(least < most for least, most in line.band):
            how = {"color": line.style["color"], "alpha": 0.15, "linewidth": 0}
            plot.fill_between(line.x, *zip(*line.band, strict=True), **how)
    if panel.outage is not None:
        name, (start, end) = panel.outage
        plot.axvspan(start, end, color="0.9")
        how = {"transform": plot.get_xaxis_transform(), "ha": "center", "va": "top", "fontsize": 8}
        how["bbox"] = {"color": "0.9", "pad": 1}
        plot.text((start + end) / 2, 0.98, name.replace(" is ", "\nis "), **how)
    if panel.title:
        plot.set_title(panel.title)
    plot.grid(visible=True, alpha=0.3)
    if panel.scale != "linear":
        how = {"linthresh": LINEAR_BELOW} if panel.scale == "symlog" else {}
        plot.set_yscale(panel.scale, **how)
        plain(plot.yaxis)
    if panel.x_scale != "linear":
        plot.set_xscale(panel.x_scale)
        plain(plot.xaxis)
    if panel.limits != (None, None):
        plot.set_ylim(*panel.limits)


def label_lines(plot: Any, lines: Mapping[str, Graph], gap: float) -> None:
    """Write the names of lines at their ends, with `gap` between them, as a share of the height."""
    plot.autoscale_view()
    to_axes = plot.transData + plot.transAxes.inverted()
    ends: list[tuple[float, str, tuple[float, float]]] = []
    for name, line in lines.items():
        points = [point for point in zip(line.x, line.y, strict=True) if isfinite(point[1])]
        if points and not name.startswith("_"):
            height = to_axes.transform(points[-1])[1]
            ends.append((height, name, points[-1]))
    place, places = -1.0, []
    for height, _, _ in sorted(ends):
        place = max(place + gap, min(height, 1.0))
        places.append(place)
    for above in range(len(places) - 1, -1, -1):
        places[above] = min(places[above], 1.0 - gap * (len(places) - 1 - above))
    for place, (_, name, point) in zip(places, sorted(ends), strict=True):
        style = lines[name].style
        how = {"arrowstyle": "-", "color": style["color"], "relpos": (0, 0.5)}
        plot.annotate(
            name,
            point,
            (1.04, place),
            xycoords="data",
            textcoords="axes fraction",
            va="center",
            fontsize=9,
            arrowprops=how,
            annotation_clip=False,
        )
