"""Consumption and collisions, over the number of producers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ....plotting.styles import headline, legend, plain
from ...drawing import drawing
from ..styles import INCHES, STYLES
from .model import Buffered


def draw(results: Sequence[Buffered], folder: Path) -> list[Path]:
    """Draw what is consumed, and the collisions, over the number of producers.

    >>> from tempfile import TemporaryDirectory
    >>> from ixbackoff.fleet.experiments.buffer.model import buffered
    >>> with TemporaryDirectory() as folder:
    ...     files = draw(buffered([2, 4], seconds=3), Path(folder))
    >>> [file.name for file in files]
    ['buffer.png', 'buffer.svg']

    Raises:
        ImportError: matplotlib is missing; with what to install.
        OSError: the folder cannot be written to.
    """
    with drawing(folder, "buffer", INCHES) as (figure, files):
        consumed, collisions = figure.subplots(1, 2)
        for kind, style in STYLES.items():
            some = [one for one in results if one.kind == kind]
            many = [one.producers for one in some]
            rates = [one.megabytes / len(one.outcome.seconds) for one in some]
            consumed.plot(many, rates, **style, label=kind)
            collisions.plot(many, [one.collisions for one in some], **style, label=kind)
        consumed.set_ylabel("consumed, MB/s")
        consumed.set_ylim(bottom=0)
        collisions.set_ylabel("collisions, in all")
        collisions.set_yscale("symlog", linthresh=10)
        plain(collisions.yaxis)
        for axes in consumed, collisions:
            axes.set_xlabel("producers")
            axes.grid(visible=True, alpha=0.3)
        headline(figure, "The more producers share a full disk: what is consumed, and collisions")
        legend(figure, consumed)
    return files
