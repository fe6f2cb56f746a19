"""The files that were read, over time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

from ....plotting.styles import headline, legend
from ...drawing import drawing
from ..styles import INCHES, STYLES
from .model import Reading


def draw(readings: Sequence[Reading], folder: Path) -> list[Path]:
    """Draw the files that were read, over time.

    >>> from tempfile import TemporaryDirectory
    >>> from ixbackoff.fleet.experiments.blackhole.model import black_hole
    >>> with TemporaryDirectory() as folder:
    ...     files = draw(black_hole(seconds=30), Path(folder))
    >>> [file.name for file in files]
    ['blackhole.png', 'blackhole.svg']

    Raises:
        ImportError: matplotlib is missing; with what to install.
        OSError: the folder cannot be written to.
    """
    with drawing(folder, "blackhole", INCHES) as (figure, files):
        axes = figure.add_subplot()
        for one in readings:
            reads = [0, *accumulate(second.well for second in one.outcome.seconds)]
            style = STYLES[one.kind] | {"markevery": max(1, len(reads) // 12)}
            axes.plot(range(len(reads)), reads, **style, label=f"{one.kind}: {one.reads} files")
        axes.set_xlabel("time, s")
        axes.set_ylabel("files that were read")
        axes.grid(visible=True, alpha=0.3)
        best = max(readings, key=lambda one: one.reads, default=None)
        if best is not None:
            headline(figure, f"One of three servers never answers: {best.kind} reads most files")
        legend(figure, axes)
    return files
