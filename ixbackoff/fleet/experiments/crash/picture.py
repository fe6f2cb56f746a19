"""Answers and requests at once, second by second."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ....plotting.styles import headline, legend, line_style, plain
from ...drawing import drawing
from .model import Crash

INCHES = (10.0, 6.0)
WAYS = ("exponential", "fixed", "as shipped")
"""The ways to wait that are always drawn in the same style."""


def draw(crashes: Sequence[Crash], folder: Path) -> list[Path]:
    """Draw each way to wait, in a column for each accept queue; return the files.

    >>> from tempfile import TemporaryDirectory
    >>> from ixbackoff.fleet.experiments.crash.model import crash
    >>> with TemporaryDirectory() as folder:
    ...     files = draw(crash(3, clients=20, steady=3, watch=4), Path(folder))
    >>> [file.name for file in files]
    ['crash.png', 'crash.svg']

    Args:
        crashes: the results of `crash`.
        folder: the folder of the files; it is made if it is missing.

    Raises:
        ImportError: matplotlib is missing; with what to install.
        OSError: the folder cannot be written to.
    """
    backlogs = list(dict.fromkeys(one.backlog for one in crashes))
    with drawing(folder, "crash", INCHES) as (figure, files):
        axes = figure.subplots(2, len(backlogs), sharex=True, sharey="row", squeeze=False)
        for column, backlog in enumerate(backlogs):
            answered, places = axes[0][column], axes[1][column]
            some = [one for one in crashes if one.backlog == backlog]
            back = [one.way for one in some if one.recovers]
            answered.set_title(f"accept queue {backlog}: back with {', '.join(back) or 'none'}")
            for one in some:
                drawn(one, answered, places)
            for plot in answered, places:
                plot.axvspan(*crashes[0].stopped.span, color="0.9", label="the server is stopped")
                plot.grid(visible=True, alpha=0.3)
            places.set_yscale("symlog", linthresh=10)
            plain(places.yaxis)
            places.set_xlabel("time, s")
        axes[0][0].set_ylabel("answered per second")
        axes[1][0].set_ylabel("requests at once")
        headline(figure, "After an outage: which way to wait lets the server come back?")
        legend(figure, axes[0][0])
    return files


def drawn(one: Crash, answered: Any, places: Any) -> None:
    """Draw one way to wait, on both axes."""
    times = [number + 1 for number in range(len(one.outcome.seconds))]
    number = WAYS.index(one.way) if one.way in WAYS else len(WAYS)
    style = line_style(number, len(times)) | {"label": one.way}
    answered.plot(times, [second.well for second in one.outcome.seconds], **style)
    places.plot(times, [second.load for second in one.outcome.seconds], **style)
