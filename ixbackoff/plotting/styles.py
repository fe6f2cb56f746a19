"""The look of all pictures: lines differ in more than color, and numbers are written in full."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

SAME = {"svg.hashsalt": "ixbackoff", "svg.fonttype": "none", "lines.markersize": 5}
"""With these settings the same picture gives the same file, whose text can be searched."""
COLORS = ("#00548f", "#d55e00", "#00835e", "#b8508c", "#7a5c00", "#2787ba", "#000000")
BRIGHT = ("#4d9fdc", "#f07f2a", "#1fb588", "#d98bb8", "#d0a92e", "#9bd6f7", "#e6edf3")
"""Colors that nearly all people can distinguish (after Okabe and Ito), `BRIGHT` on dark pages."""
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "x")
MARKS = 12  # a line with more points has at least this many markers, at equal distances
SHADES = "".join(
    f'   [style*="{part}: {color}"] {{ {part}: {bright} !important }}\n'
    for color, bright in zip(COLORS, BRIGHT, strict=True)
    for part in ("fill", "stroke")
)
DARK = f"""@media (prefers-color-scheme: dark) {{ text, [style^="fill-op"] {{ fill: #e6edf3 }}
   [style*="fill: #ffffff"] {{ fill: #131416 !important }}
   [style*="fill: #e6e6e6"] {{ fill: #2d3237 !important }}
   [style*="stroke: #e6e6e6"], [style*="stroke: #cccccc"] {{ stroke: #4d545c !important }}
{SHADES}}}"""
"""The style of an SVG on a dark screen: the ground, the axes, the spans and the lines."""


def line_style(number: int, points: int = 0, colors: Sequence[str] = COLORS) -> dict[str, Any]:
    """Return the style of a line: its `number`, from 0, chooses its color, dashes and marker.

    If a line has many `points`, only some of them have a marker.
    """
    style: dict[str, Any] = {
        "color": colors[number % len(colors)],
        "linestyle": DASHES[number % len(DASHES)],
        "marker": MARKERS[number % len(MARKERS)],
    }
    if points > MARKS:
        every = points // MARKS
        style["markevery"] = (number * every // len(MARKERS) % every, every)
    return style


def plain(axis: Any) -> None:
    """Write the numbers of an axis in full, such as 0.1 and 10,000, and set its ticks.

    If few powers of ten are in view, there are ticks such as 20 and 50 between them. The linear
    part of a symlog axis has ticks at 0, 2 and 5; without 2 if the axis goes to 10,000 or more.
    """
    ticker: Any = import_module("matplotlib.ticker")
    low, high = axis.get_view_interval()
    if axis.get_scale() == "symlog":
        tens = [10**k for k in range(12)]
        few = high < 1000 or low > max(10, high / 1000)
        more = [n * ten for ten in tens[1:] for n in (2, 5)] if few else []
        foot = [0, 2, 5] if high < 10_000 else [0, 5]
        axis.set_major_locator(ticker.FixedLocator([*foot, *more, *tens[1:]]))
        axis.set_minor_locator(ticker.FixedLocator([n * ten for ten in tens for n in range(1, 10)]))
    elif axis.get_scale() == "log" and high < 1000 * low:
        axis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(ticker.StrMethodFormatter("{x:,.10g}"))
    axis.set_minor_formatter(ticker.NullFormatter())
