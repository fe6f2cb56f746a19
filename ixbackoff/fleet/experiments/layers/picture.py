"""Requests at the bottom, and runs that end well, second by second."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ....plotting.styles import headline, legend, line_style, plain
from ...drawing import drawing
from .model import Layered

INCHES = (10.0, 6.0)


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
            for number, one in enumerate(one for one in some if one.queue == queue):
                times = [second + 1 for second in range(len(one.asked))]
                style = line_style(number, len(times))
                asked.plot(times, one.asked, **style, label=one.way.name)
                well.plot(times, [second.well for second in one.outcome.seconds], **style)
            for plot in asked, well:
                plot.axvspan(*some[0].stopped.span, color="0.9", label="the service is down")
                plot.grid(visible=True, alpha=0.3)
            asked.set_yscale("symlog", linthresh=10)
            plain(asked.yaxis)
            well.set_xlabel("time, s")
        axes[0][0].set_ylabel("requests/s at the bottom")
        axes[1][0].set_ylabel("runs/s that end well")
        headline(figure, "Retries in layers multiply: requests at the bottom, runs that end well")
        legend(figure, axes[0][0])
    return files
