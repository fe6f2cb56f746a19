"""The picture: the delay until the end of an outage is noticed, over its length."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10
from pathlib import Path

from ....plotting.styles import headline, legend, plain
from ...drawing import drawing
from .model import Comparison

INCHES = (9.0, 5.0)
POINTS = 2000
COLORS = {"plain": "#0072b2", "spread": "#d55e00", "capped": "#009e73"}
MARKERS = {"plain": "o", "spread": "s", "capped": "^"}
DASHES = {"plain": "--", "spread": "-.", "capped": ":"}
LABELS = {"plain": "T·F^N", "spread": "R·T·F^N", "capped": "MIN(R·T·F^N, M)"}


def draw(rows: Sequence[Comparison], folder: Path) -> list[Path]:
    """Draw the time until the end of an outage was noticed, as a multiple of its length.

    Lines are closed forms, filled points are the last clients of simulations, and hollow ones
    their medians.

    >>> from tempfile import TemporaryDirectory
    >>> from ixbackoff.fleet.experiments.recovery.model import recovery
    >>> with TemporaryDirectory() as folder:
    ...     files = draw(recovery([1.5, 30.0], clients=2), Path(folder))
    >>> [file.name for file in files]
    ['recovery.png', 'recovery.svg']

    Raises:
        ImportError: matplotlib is missing; with what to install.
        OSError: the folder cannot be written to.
    """
    lengths = [row.plain.outage for row in rows]
    least, most = log10(min(lengths)) - 0.1, log10(max(lengths)) + 0.1
    along = [10 ** (least + (most - least) * point / POINTS) for point in range(POINTS + 1)]
    with drawing(folder, "recovery", INCHES) as (figure, files):
        axes = figure.add_subplot()
        for name, color in COLORS.items():
            recoveries = [row._asdict()[name] for row in rows]
            formula = recoveries[0].formula
            bounds = [formula.bound(length) / length for length in along]
            axes.plot(along, bounds, DASHES[name], color=color, label=f"{LABELS[name]}: bound")
            lasts = [one.last / one.outage for one in recoveries]
            marks = {"color": color, "linestyle": "", "marker": MARKERS[name]}
            axes.plot(lengths, lasts, **marks, label=f"{LABELS[name]}: last client")
            if name == "plain":
                noticed = [formula.noticed(length) / length for length in along]
                axes.plot(along, noticed, color=color, alpha=0.6, label=f"{LABELS[name]}: closed")
            else:
                medians = [one.median / one.outage for one in recoveries]
                hollow = marks | {"markerfacecolor": "none"}
                axes.plot(lengths, medians, **hollow, label=f"{LABELS[name]}: median")
        axes.set_xscale("log")
        plain(axes.xaxis)
        axes.set_ylim(0.9, 6)
        axes.set_xlabel("length of the outage, s")
        axes.set_ylabel("noticed after so many times its length")
        axes.grid(visible=True, alpha=0.3)
        headline(figure, "How late the end of an outage is noticed")
        legend(figure, axes, columns=3)
    return files
