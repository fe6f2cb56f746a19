"""Requests at the service, and runs that end well, second by second."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...drawing import drawing
from .model import Guarded

INCHES = (9.0, 6.5)
LINES = ("-", "--")
"""With a breaker, and without one."""


def draw(some: Sequence[Guarded], folder: Path) -> list[Path]:
    """Draw each way; return the files.

    >>> from tempfile import TemporaryDirectory
    >>> from ixbackoff.fleet.experiments.breakers.model import guarded
    >>> with TemporaryDirectory() as folder:
    ...     files = draw(guarded(clients=5, processes=2, outage=12, watch=10), Path(folder))
    >>> [file.name for file in files]
    ['breakers.png', 'breakers.svg']

    Args:
        some: the results of `guarded`.
        folder: the folder of the files; it is made if it is missing.

    Raises:
        ImportError: matplotlib is missing; with what to install.
        OSError: the folder cannot be written to.
    """
    with drawing(folder, "breakers", INCHES) as (figure, files):
        asked, well = figure.subplots(2, 1, sharex=True)
        for one in some:
            times = [number + 1 for number in range(len(one.asked))]
            line = LINES[not one.way.breakers]
            asked.plot(times, one.asked, line, label=one.way.name)
            well.plot(times, [second.well for second in one.outcome.seconds], line)
        for plot in asked, well:
            plot.axvspan(*some[0].stopped.span, color="0.9")
            plot.grid(visible=True, alpha=0.3)
        asked.set_yscale("symlog", linthresh=10)
        asked.set_ylabel("requests per second")
        well.set_ylabel("runs that end well per second")
        well.set_xlabel("seconds")
        lines, labels = asked.get_legend_handles_labels()
        figure.legend(lines, labels, loc="outside lower center", ncols=3)
    return files
