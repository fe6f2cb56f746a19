"""The Ethernet approach in pictures: jobs, files and reads of three kinds of clients."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

from ..drawing import drawing
from .buffer import Buffered
from .readers import Reading
from .submissions import Submissions

INCHES = (10.0, 4.5)
STYLES = {
    "fixed": {"color": "tab:red", "linestyle": ":", "marker": "s"},
    "aloha": {"color": "tab:orange", "linestyle": "--", "marker": "^"},
    "ethernet": {"color": "tab:blue", "linestyle": "-", "marker": "o"},
}
WATCHED = 400
"""So many submitters, or the next number above it, are shown second by second."""


def draw_submissions(results: Sequence[Submissions], folder: Path) -> list[Path]:
    """Draw the jobs over the number of submitters, and the descriptors in use over time.

    >>> from tempfile import TemporaryDirectory
    >>> from ixbackoff.fleet.experiments.submissions import submissions
    >>> with TemporaryDirectory() as folder:
    ...     files = draw_submissions(submissions([2, 4], seconds=3), Path(folder))
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
                    descriptors.plot(times, used, color=style["color"], label=kind)
        jobs.set_xlabel("submitters")
        jobs.set_ylabel("jobs that were taken")
        jobs.set_ylim(bottom=0)
        descriptors.set_xlabel(f"seconds, with {watched} submitters")
        descriptors.set_ylabel("descriptors in use")
        for axes in jobs, descriptors:
            axes.grid(visible=True, alpha=0.3)
        jobs.legend()
    return files


def draw_buffer(results: Sequence[Buffered], folder: Path) -> list[Path]:
    """Draw what is consumed, and the collisions, over the number of producers.

    >>> from tempfile import TemporaryDirectory
    >>> from ixbackoff.fleet.experiments.buffer import buffered
    >>> with TemporaryDirectory() as folder:
    ...     files = draw_buffer(buffered([2, 4], seconds=3), Path(folder))
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
        consumed.set_ylabel("MB/s consumed")
        consumed.set_ylim(bottom=0)
        collisions.set_ylabel("collisions")
        collisions.set_yscale("symlog", linthresh=10)
        for axes in consumed, collisions:
            axes.set_xlabel("producers")
            axes.grid(visible=True, alpha=0.3)
        consumed.legend()
    return files


def draw_black_hole(readings: Sequence[Reading], folder: Path) -> list[Path]:
    """Draw the files that were read, over time.

    >>> from tempfile import TemporaryDirectory
    >>> from ixbackoff.fleet.experiments.readers import black_hole
    >>> with TemporaryDirectory() as folder:
    ...     files = draw_black_hole(black_hole(seconds=30), Path(folder))
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
            axes.plot(range(len(reads)), reads, color=STYLES[one.kind]["color"], label=one.kind)
        axes.set_xlabel("seconds")
        axes.set_ylabel("files that were read")
        axes.grid(visible=True, alpha=0.3)
        axes.legend()
    return files
