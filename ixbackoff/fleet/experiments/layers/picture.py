"""Requests at the bottom, and runs that end well, second by second."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...drawing import drawing
from .model import Layered

INCHES = (10.0, 6.0)
LINES = ("-", "--")
"""Without a budget, and with one."""


def draw(some: Sequence[Layered], folder: Path) -> list[Path]:
    """Draw each way, in a column for each queue; return the files.

    >>> from tempfile import TemporaryDirectory
    >>> from ixbackoff.fleet.experiments.layers.model import layered
    >>> with TemporaryDirectory() as folder:
    ...     files = draw(layered(1, clients=5, outage=2, watch=10), Path(folder))
    >>> [file.name for file in files]
    ['layers.png', 'layers.svg']

    Args:
        some: the results of `layered`.
        folder: the folder of the files; it is made if it is missing.

    Raises:
        ImportError: matplotlib is missing; with what to install.
        OSError: the folder cannot be written to.
    """
    queues = list(dict.fromkeys(one.queue for one in some))
    with drawing(folder, "layers", INCHES) as (figure, files):
        axes = figure.subplots(2, len(queues), sharex=True, sharey="row", squeeze=False)
        for column, queue in enumerate(queues):
            asked, well = axes[0][column], axes[1][column]
            asked.set_title(f"a full queue at the bottom is a wait of {queue:g} s")
            for one in some:
                if one.queue == queue:
                    times = [number + 1 for number in range(len(one.asked))]
                    line = LINES[one.way.budget is not None]
                    asked.plot(times, one.asked, line, label=one.way.name)
                    ended = [second.well for second in one.outcome.seconds]
                    well.plot(times, ended, line, label=one.way.name)
            for plot in asked, well:
                plot.axvspan(*some[0].stopped.span, color="0.9")
                plot.grid(visible=True, alpha=0.3)
            asked.set_yscale("symlog", linthresh=10)
            well.set_xlabel("seconds")
        axes[0][0].set_ylabel("requests at the bottom per second")
        axes[1][0].set_ylabel("runs that end well per second")
        lines, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(lines, labels, loc="outside lower center", ncols=4)
    return files
