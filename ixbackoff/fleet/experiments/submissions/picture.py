"""The jobs over the number of submitters, and the descriptors in use over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ....plotting.styles import headline, legend
from ...drawing import drawing
from ..styles import INCHES, STYLES
from .model import Submissions

WATCHED = 400
"""The number of submitters that is shown over time, or the next above it."""


def draw(results: Sequence[Submissions], folder: Path) -> list[Path]:
    """Draw the jobs over the number of submitters, and the descriptors in use over time.

    >>> from tempfile import TemporaryDirectory
    >>> from ixbackoff.fleet.experiments.submissions.model import submissions
    >>> with TemporaryDirectory() as folder:
    ...     files = draw(submissions([2, 4], seconds=3), Path(folder))
    >>> [file.name for file in files]
    ['submissions.png', 'submissions.svg']

    Raises:
        ImportError: matplotlib is missing; with what to install.
        OSError: the folder cannot be written to.
    """
    numbers = [one.submitters for one in results]
    watched = min((many for many in numbers if many >= WATCHED), default=max(numbers))
    with drawing(folder, "submissions", INCHES) as (figure, files):
        jobs, descriptors = figure.subplots(1, 2)
        for kind, style in STYLES.items():
            some = [one for one in results if one.kind == kind]
            many = [one.submitters for one in some]
            jobs.plot(many, [one.jobs for one in some], **style, label=kind)
            for one in some:
                if one.submitters == watched:
                    used = [second.load for second in one.outcome.seconds]
                    times = [number + 1 for number in range(len(used))]
                    every = style | {"markevery": max(1, len(times) // 12)}
                    descriptors.plot(times, used, **every, label=kind)
        jobs.set_xlabel("submitters")
        jobs.set_ylabel("jobs that were taken, in all")
        jobs.set_ylim(bottom=0)
        descriptors.set_xlabel(f"time with {watched} submitters, s")
        descriptors.set_ylabel("descriptors in use")
        for axes in jobs, descriptors:
            axes.grid(visible=True, alpha=0.3)
        headline(figure, "Submitters share a pool of descriptors: what happens when it is empty")
        legend(figure, jobs)
    return files
