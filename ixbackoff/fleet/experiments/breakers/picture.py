"""Requests at the service, and runs that end well, second by second."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ....plotting.styles import headline, legend, line_style, plain
from ...drawing import drawing
from .model import Guarded

INCHES = (9.0, 6.5)


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
        for number, one in enumerate(some):
            times = [number + 1 for number in range(len(one.asked))]
            style = line_style(number, len(times))
            asked.plot(times, one.asked, **style, label=one.way.name)
            well.plot(times, [second.well for second in one.outcome.seconds], **style)
        for plot in asked, well:
            plot.axvspan(*some[0].stopped.span, color="0.9", label="the service is down")
            plot.grid(visible=True, alpha=0.3)
        asked.set_yscale("symlog", linthresh=10)
        plain(asked.yaxis)
        asked.set_ylabel("requests per second")
        well.set_ylabel("runs that end well per second")
        well.set_xlabel("time, s")
        headline(figure, "A service that is down: how many requests it gets, and what comes after")
        legend(figure, asked, columns=3)
    return files
