"""`Picture`: a grid of panels with lines, drawn as PNG and SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import accumulate, chain
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from .._words.extras import needed
from .styles import DARK, SAME, plain

LINEAR = {"linthresh": 10, "linscale": 1.5}  # the linear part of a symlog axis, and its length
LINE = 12.0  # points from a label to the next


class Graph(NamedTuple):
    """A line of a panel; `style` has arguments of matplotlib's `plot`."""

    x: Sequence[float]
    y: Sequence[float]
    style: Mapping[str, Any]
    band: Sequence[tuple[float, float]] = ()  # the least and the greatest y


class Panel(NamedTuple):
    """A part of a picture, with axes of its own."""

    label: str  # the name of the vertical axis
    lines: Mapping[str, Graph]  # by their labels
    x: str = "time, s"  # the name of the horizontal axis
    title: str = ""
    scale: str = "linear"  # of the vertical axis: "linear", "log" or "symlog"
    x_scale: str = "linear"
    limits: tuple[float | None, float | None] = (None, None)  # `None`: as the data need
    outage: tuple[str, tuple[float, float]] | None = None  # its name, and its span


class Picture(NamedTuple):
    """A grid of panels."""

    headline: str
    panels: Sequence[Sequence[Panel]]  # its panels, row by row
    inches: tuple[float, float] = (10.0, 4.5)
    note: str = ""  # shown below the panels: what the words of the picture mean
    shared: bool = False  # whether all panels share their x axis, and those of a row their y axis


def draw(picture: Picture, name: str, folder: Path) -> list[Path]:
    """Draw a picture as `folder/name.png` and `.svg`; create the folder if it is missing.

    The SVG is light or dark, as the browser prefers.
    """
    with needed("drawing", "plot", {"matplotlib"}):  # its stubs lack much, hence `Any`
        matplotlib: Any = import_module("matplotlib")
        figures: Any = import_module("matplotlib.figure")
    folder.mkdir(parents=True, exist_ok=True)
    png, svg = folder / f"{name}.png", folder / f"{name}.svg"
    shape = len(picture.panels), len(picture.panels[0])
    sharing: dict[str, Any] = {"sharex": True, "sharey": "row"} if picture.shared else {}
    with matplotlib.rc_context(SAME):
        figure = figures.Figure(figsize=picture.inches, layout="constrained")
        figure.suptitle(picture.headline, x=0.01, ha="left", fontsize=12, fontweight="bold")
        figure.supxlabel(picture.note, x=0.01, ha="left", fontsize=9)
        axes = figure.subplots(*shape, squeeze=False, **sharing)
        every = [*zip(axes.flat, chain(*picture.panels), strict=True)]
        for number, (plot, panel) in enumerate(every):
            draw_panel(plot, panel)
            if number % shape[1] == 0 or not picture.shared:
                linear = panel.scale == "symlog" and plot.get_ylim()[0] < LINEAR["linthresh"]
                plot.set_ylabel(panel.label + ("\n(linear to 10)" if linear else ""))
            if number >= len(every) - shape[1] or not picture.shared:
                plot.set_xlabel(panel.x)
        gap = LINE / (0.75 * 72 * picture.inches[1] / shape[0])
        for plot, panel in every:
            label_lines(plot, panel.lines, gap)
        figure.savefig(png)
        figure.savefig(svg, metadata={"Date": None})
    svg.write_bytes(svg.read_bytes().replace(b"</style>", f" {DARK}</style>".encode()))
    return [png, svg]


def draw_panel(plot: Any, panel: Panel) -> None:
    """Draw a panel on the axes `plot`, without the names of the axes and lines."""
    for line in panel.lines.values():
        plot.plot(line.x, line.y, **line.style)
        if any(least < most for least, most in line.band):
            how = {"color": line.style["color"], "alpha": 0.2, "linewidth": 0}
            how["gid"] = line.style.get("gid", "") + "-band"
            plot.fill_between(line.x, *zip(*line.band, strict=True), **how)
    if panel.outage is not None:
        name, (start, end) = panel.outage
        plot.axvspan(start, end, color="0.9")
        how = {"transform": plot.get_xaxis_transform(), "ha": "center", "fontsize": 8}
        plot.text((start + end) / 2, 1.02, name, **how)
    plot.set_title(panel.title, fontsize=10, pad=18 if panel.outage else 6)
    plot.grid(visible=True, alpha=0.3)
    plot.set_yscale(panel.scale, **(LINEAR if panel.scale == "symlog" else {}))
    plot.set_xscale(panel.x_scale)
    plain(plot.yaxis)
    plain(plot.xaxis)
    if panel.x_scale == "linear":
        plot.xaxis.get_major_locator().set_params(integer=True)
    if panel.limits != (None, None):
        plot.set_ylim(*panel.limits)


def label_lines(plot: Any, lines: Mapping[str, Graph], gap: float) -> None:
    """Write names beside the ends of lines, at least `gap` (a share of the height) apart."""
    plot.autoscale_view()
    to_axes = plot.transData + plot.transAxes.inverted()
    ends: list[tuple[float, float, str]] = []
    for name, line in lines.items():
        points = [point for point in zip(line.x, line.y, strict=True) if isfinite(point[1])]
        end = points[-1] if points else (plot.get_xlim()[1], plot.get_ylim()[0])
        ends.append((*to_axes.transform(end)[::-1], name))
    heights = (min(height, 1.0) for height, _, _ in sorted(ends))
    places = [*accumulate(heights, lambda below, height: max(below + gap, height))]
    for above in range(len(places) - 1, -1, -1):
        places[above] = min(places[above], 1.0 - gap * (len(places) - 1 - above))
    for place, (height, across, name) in zip(places, sorted(ends), strict=True):
        how = {**lines[name].style, "gid": None, "markevery": [2], "linewidth": 1}
        way = (across, 1.02, 1.045, 1.07), (height, place, place, place)
        plot.plot(*way, **how, transform=plot.transAxes, clip_on=False)
        plot.text(1.09, place, name, transform=plot.transAxes, va="center", fontsize=9)
