"""`Picture`: a grid of panels with lines, drawn as PNG and SVG."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..plotting.styles import headline, legend, line_style, plain, saved_figure

LINEAR_BELOW = 10  # of a symlog axis


class Graph(NamedTuple):
    """A line of a panel; `style` has arguments of matplotlib's `plot`."""

    x: Sequence[float]
    y: Sequence[float]
    style: Mapping[str, Any]


class Panel(NamedTuple):
    """A part of a picture, with axes of its own."""

    label: str  # the name of the vertical axis
    lines: Mapping[str, Graph]  # by their names in the legend
    x: str = "time, s"  # the name of the horizontal axis
    title: str = ""
    scale: str = "linear"  # of the vertical axis: "linear", "log" or "symlog"
    x_scale: str = "linear"
    limits: tuple[float | None, float | None] = (None, None)  # `None`: the ends of the data
    outage: tuple[str, tuple[float, float]] | None = None  # its name in the legend, and its span


class Picture(NamedTuple):
    """A grid of panels."""

    headline: str
    panels: Sequence[Sequence[Panel]]  # its panels, row by row
    inches: tuple[float, float] = (10.0, 4.5)
    legend: int = 4  # the greatest number of columns in the legend
    shared: bool = False  # whether all panels share their x axis, and those of a row their y axis


def by_second(
    lines: Mapping[str, Sequence[float]], styles: Iterable[int] = range(100)
) -> dict[str, Graph]:
    """Return lines with a value for each second; `styles` has the numbers of their styles."""
    return {
        name: Graph(range(1, len(line) + 1), line, line_style(number, len(line)))
        for (name, line), number in zip(lines.items(), styles, strict=False)
    }


def by_size(points: Iterable[tuple[str, float, float]]) -> dict[str, Graph]:
    """Return a line for each name, through the points of that name: tuples of name, x and y."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for name, x, y in points:
        lines.setdefault(name, []).append((x, y))
    return {
        name: Graph([x for x, _ in line], [y for _, y in line], line_style(number))
        for number, (name, line) in enumerate(lines.items())
    }


def draw(picture: Picture, name: str, folder: Path) -> list[Path]:
    """Draw a picture as `folder/name.png` and `.svg`; create the folder if it is missing."""
    shape = len(picture.panels), len(picture.panels[0])
    sharing: dict[str, Any] = {"sharex": True, "sharey": "row"} if picture.shared else {}
    with saved_figure(folder, name, picture.inches) as (figure, files):
        axes = figure.subplots(*shape, squeeze=False, **sharing)
        for row, panels in enumerate(picture.panels):
            for column, panel in enumerate(panels):
                plot = axes[row][column]
                draw_panel(plot, panel)
                if column == 0 or not picture.shared:
                    plot.set_ylabel(panel.label)
                if row == shape[0] - 1 or not picture.shared:
                    plot.set_xlabel(panel.x)
        headline(figure, picture.headline)
        legend(figure, *axes.flat, columns=picture.legend)
    return files


def draw_panel(plot: Any, panel: Panel) -> None:
    """Draw a panel on the axes `plot`, without the names of the axes."""
    for name, line in panel.lines.items():
        plot.plot(line.x, line.y, **line.style, label=name)
    if panel.outage is not None:
        name, span = panel.outage
        plot.axvspan(*span, color="0.9", label=name)
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
