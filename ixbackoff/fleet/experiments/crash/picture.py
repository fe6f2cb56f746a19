"""Answers and requests at once, second by second."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...drawing import drawing
from .model import Crash

INCHES = (10.0, 6.0)
COLORS = {"fixed": "tab:red", "exponential": "tab:blue", "as shipped": "tab:green"}


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
            answered.set_title(f"accept queue: {backlog}")
            for one in crashes:
                if one.backlog == backlog:
                    drawn(one, answered, places)
            for plot in answered, places:
                plot.axvspan(*crashes[0].stopped.span, color="0.9", label="stopped")
                plot.grid(visible=True, alpha=0.3)
            places.set_yscale("symlog", linthresh=10)
            places.set_xlabel("seconds")
        axes[0][0].set_ylabel("answered per second")
        axes[1][0].set_ylabel("requests at once")
        axes[0][0].legend()
    return files


def drawn(one: Crash, answered: Any, places: Any) -> None:
    """Draw one way to wait, on both axes."""
    times = [number + 1 for number in range(len(one.outcome.seconds))]
    style = {"color": COLORS.get(one.way), "label": one.way}
    answered.plot(times, [second.well for second in one.outcome.seconds], **style)
    places.plot(times, [second.load for second in one.outcome.seconds], **style)
