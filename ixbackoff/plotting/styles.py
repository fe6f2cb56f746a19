"""The look of all pictures: lines that differ in more than color, numbers in full."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

SAME = {"svg.hashsalt": "ixbackoff", "svg.fonttype": "none"}
"""Settings by which the same picture is the same file, with text that can be searched."""
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#806000", "#56b4e9", "#000000")
"""Colors that nearly everybody can distinguish (Okabe and Ito), with a darker yellow."""
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "x")
SAME_STYLE = """
exponential; aloha; 1 layer; requests; Throttle(); Hedge(); bound
fixed; 2 layers; Throttle(1.5); last client
ethernet; budgets; budget, grpc; RetryBudget(10); 1 layer, grpc; answered in time; median
as shipped; three waits; decorrelated; 4 layers, finagle; breaker, open 10 s
breakers; breaker, open 2 s; breaker, 20 in 2 s; equal
full; 100 breakers, open 2 s
none; bare; ladders alone; no hedge; 4 layers; capacity"""
STYLES = {
    name: number
    for number, names in enumerate(SAME_STYLE.strip().splitlines())
    for name in names.split("; ")
}
"""The numbers of styles, by the names of lines: a line looks the same in all pictures."""
MARKS = 12  # markers on a line that has a point each second
DARK = """@media (prefers-color-scheme: dark) { text { fill: #e6edf3 }
   [style*="fill: #ffffff"] { fill: #131416 !important }
   [style*="fill: #e6e6e6"] { fill: #2d3237 !important }
   [style*="stroke: #e6e6e6"], [style*="stroke: #cccccc"] { stroke: #4d545c !important }
   [style*="fill: #000000"] { fill: #e6edf3 !important }
   [style*="stroke: #000000"] { stroke: #e6edf3 !important } }"""
"""The style of an SVG where the reader's screen is dark: its ground, axes, spans and legend."""


def line_style(number: int, points: int = 0, colors: Sequence[str] = COLORS) -> dict[str, Any]:
    """Style the line `number`, from 0, of a picture: lines differ by color, dashes and markers.

    Of a line with many `points`, only some have a marker.
    """
    style: dict[str, Any] = {
        "color": colors[number % len(colors)],
        "linestyle": DASHES[number % len(DASHES)],
        "marker": MARKERS[number % len(MARKERS)],
        "markersize": 5,
    }
    if points > MARKS:
        every = points // MARKS
        style["markevery"] = (number * every // len(MARKERS) % every, every)
    return style


def plain(axis: Any) -> None:
    """Write the numbers of an axis in full, 0.1, 10 and 10,000, although it is logarithmic."""
    ticker: Any = import_module("matplotlib.ticker")
    axis.set_major_formatter(ticker.StrMethodFormatter("{x:,.10g}"))
    axis.set_minor_formatter(ticker.NullFormatter())
