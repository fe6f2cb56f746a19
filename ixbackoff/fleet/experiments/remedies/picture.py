"""Requests at once, second by second, with each remedy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ....plotting.styles import headline, legend, line_style, plain
from ...drawing import drawing
from .model import Remedied

INCHES = (10.0, 5.0)


def draw(some: Sequence[Remedied], folder: Path) -> list[Path]:
    """Draw each remedy, in a column for each accept queue; return the files.

    >>> from tempfile import TemporaryDirectory
    >>> from ixbackoff.fleet.experiments.remedies.model import remedied
    >>> with TemporaryDirectory() as folder:
    ...     files = draw(remedied(3, clients=20, watch=4, seeds=1), Path(folder))
    >>> [file.name for file in files]
    ['remedies.png', 'remedies.svg']

    Args:
        some: the results of `remedied`.
        folder: the folder of the files; it is made if it is missing.

    Raises:
        ImportError: matplotlib is missing; with what to install.
        OSError: the folder cannot be written to.
    """
    backlogs = list(dict.fromkeys(one.backlog for one in some))
    with drawing(folder, "remedies", INCHES) as (figure, files):
        columns = figure.subplots(1, len(backlogs), sharey=True, squeeze=False)[0]
        for axes, backlog in zip(columns, backlogs, strict=True):
            with_it = [one for one in some if one.backlog == backlog]
            for number, one in enumerate(with_it):
                loads = [second.load for second in one.outcome.seconds]
                times = [number + 1 for number in range(len(loads))]
                label = f"{one.remedy.waits}, {one.remedy.name}"
                axes.plot(times, loads, **line_style(number, len(times)), label=label)
            axes.axvspan(*with_it[0].stopped.span, color="0.9", label="the server is stopped")
            axes.set_title(f"accept queue {backlog}")
            axes.set_yscale("symlog", linthresh=10)
            axes.set_xlabel("time, s")
            axes.grid(visible=True, alpha=0.3)
            plain(axes.yaxis)
        columns[0].set_ylabel("requests at once")
        headline(figure, "What would have saved the server: a short queue, or circuit breakers")
        legend(figure, columns[0], columns=4)
    return files
