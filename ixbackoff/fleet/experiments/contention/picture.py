"""Calls and times, over the number of clients."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ....plotting.styles import headline, legend, line_style, plain
from ...drawing import drawing
from .model import Contention

INCHES = (10.0, 4.5)


def draw(results: Sequence[Contention], folder: Path) -> list[Path]:
    """Draw each variant; return the files.

    >>> from tempfile import TemporaryDirectory
    >>> from ixbackoff.fleet.experiments.contention.model import contention
    >>> with TemporaryDirectory() as folder:
    ...     files = draw(contention([1, 2], seeds=1), Path(folder))
    >>> [file.name for file in files]
    ['contention.png', 'contention.svg']

    Args:
        results: the results of `contention`.
        folder: the folder of the files; it is made if it is missing.

    Raises:
        ImportError: matplotlib is missing; with what to install.
        OSError: the folder cannot be written to.
    """
    with drawing(folder, "contention", INCHES) as (figure, files):
        calls, times = figure.subplots(1, 2)
        for number, name in enumerate(dict.fromkeys(one.name for one in results)):
            style = line_style(number)
            some = [one for one in results if one.name == name]
            many = [one.clients for one in some]
            calls.plot(many, [one.calls for one in some], **style, label=name)
            times.plot(many, [one.seconds for one in some], **style, label=name)
        for axes in calls, times:
            axes.set_xlabel("clients")
            axes.grid(visible=True, alpha=0.3)
        calls.set_ylabel("calls, in all")
        times.set_ylabel("time until all are done, s")
        times.set_yscale("log")
        plain(times.yaxis)
        headline(figure, "Clients that update one row: fewer calls, or done sooner")
        legend(figure, calls, columns=5)
    return files
