"""Pictures of waits over the number of the try, as PNG and SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import nan
from os import PathLike
from pathlib import Path

from ..schedules.base import Timing
from .panels import Graph, Panel, Picture, draw
from .styles import line_style

SCALES = {"linear": "linear", "logarithmic": "log"}
RUNS = 100
HIGHEST = 1e100  # seconds; above it, the margins of a picture would overflow
COLORS = ("tab:blue", "tab:green", "tab:orange", "tab:red", "tab:purple", "tab:brown")


def plot(
    schedules: Mapping[str, Timing],
    folder: str | PathLike[str] = ".",
    *,
    wait_count: int = 20,
    seed: int = 1,
    name: str = "waits",
) -> list[Path]:
    """Draw the waits of schedules into four files, and return their paths.

    A line shows one run. If the schedule draws random numbers, a band around the line shows the
    range of a hundred runs.

    >>> from tempfile import TemporaryDirectory
    >>> from ixbackoff.schedules.published import post_blue, post_green
    >>> with TemporaryDirectory() as folder:
    ...     files = plot({"blue": post_blue, "green": post_green}, folder)
    >>> [file.name for file in files]
    ['waits-linear.png', 'waits-linear.svg', 'waits-logarithmic.png', 'waits-logarithmic.svg']

    Args:
        schedules: the schedules by their names in the picture; those of
            `ixbackoff.schedules.shortening_jitter` may be among them.
        folder: the folder of the files; it is made if it is missing, and files of the same names
            are replaced.
        wait_count: the number of waits.
        seed: the seed of the random numbers, so that the same picture can be drawn again; the band
            also uses the seeds that follow.
        name: the beginning of the names of the files.

    Raises:
        TypeError: a value of `schedules` is not a schedule.
        ValueError: there is nothing to draw, or a schedule gives a wait that is not a number of
            seconds, 0 or more. Infinite waits are left out.
        ImportError: matplotlib is missing; the message names the extra to install.
        OSError: the folder cannot be written to.
    """
    for timing in schedules.values():
        if not isinstance(timing, Timing):
            raise TypeError(f"plot(...): {timing!r} is not a schedule, such as Exponential().")
    if not schedules or wait_count < 1:
        raise ValueError(
            f"plot({dict(schedules)!r}, wait_count={wait_count!r}): give a schedule, and 1 wait or "
            "more."
        )
    runs = {
        name.lstrip("_"): [
            one.preview(wait_count, seed=seed + k) for k in range(1 if one.deterministic else RUNS)
        ]
        for name, one in schedules.items()
    }
    shown = [(name, some[0]) for name, some in runs.items()]
    first, last = min(run[0] for _, run in shown), max(run[-1] for _, run in shown)
    ratios = [(b / a, of) for of, run in shown for a, b in pairwise(run) if 0 < a < b < HIGHEST]
    most, whose = max(ratios, default=(1.0, shown[0][0]))
    heads = {
        "linear": f"A run of each schedule: the waits grow from {first:.3g} s to {last:.3g} s",
        "log": f"A run of each schedule: a wait is up to {most:.3g} times the one before ({whose})",
    }
    note = f"A line: one run, seed {seed}. A band, if waits are random: the range of {RUNS} runs."
    files: list[Path] = []
    for name_of_scale, scale in SCALES.items():
        lines = {
            label: curve(number, some, scale) for number, (label, some) in enumerate(runs.items())
        }
        panel = Panel("length of the wait after the try, s", lines, x="try", scale=scale)
        picture = Picture(heads[scale], [[panel]], (8.0, 5.0), note)
        files += draw(picture, f"{name}-{name_of_scale}", Path(folder))
    return files


def curve(number: int, runs: Sequence[Sequence[float]], scale: str) -> Graph:
    """Return the line of the first run, and the band of all, as far as they can be drawn."""

    def drawable(wait: float) -> float:
        return wait if wait < HIGHEST and (wait > 0 or scale == "linear") else nan

    style = line_style(number, colors=COLORS) | {"gid": f"curve-{number + 1}"}
    band = [(drawable(min(kth)), drawable(max(kth))) for kth in zip(*runs, strict=True)]
    return Graph(range(1, len(band) + 1), [*map(drawable, runs[0])], style, band)
