"""Pictures of waits over the number of the try, as PNG and SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from ..schedules.timings import Timing
from .styles import headline, legend, line_style, plain, saved_figure

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
        schedules: the schedules by their names in the legend; those of
            `ixbackoff.schedules.shortening` may be among them.
        folder: the folder of the files; it is made if it is missing, and files of the same names
            are replaced.
        wait_count: the number of waits.
        seed: the seed of the random numbers, so that the same picture can be drawn again; the band
            also uses the seeds that follow.
        name: the beginning of the names of the files.

    Raises:
        TypeError: a value of `schedules` is not a schedule.
        ValueError: there is nothing to draw, or a schedule gives a wait that is not a finite number
            of seconds.
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
    curves = [Curve(label, timing, wait_count, seed) for label, timing in schedules.items()]
    first = min(curve.run[0] for curve in curves)
    last = max(curve.run[-1] for curve in curves)
    files: list[Path] = []
    for scale in SCALES:
        with saved_figure(Path(folder), f"{name}-{scale}", (8.0, 5.0)) as (figure, saved):
            axes = figure.add_subplot()
            draw(axes, curves, scale)
            headline(figure, f"How long the waits get: from {first:.3g} s to {last:.3g} s")
            legend(figure, axes, columns=2)
        files += saved
    return files


class Curve:
    """The waits of one run, and the range of those of a hundred runs."""

    def __init__(self, label: str, timing: Timing, wait_count: int, seed: int) -> None:
        self.label = label.lstrip("_")  # the legend would leave out a label that begins so
        self.run = timing.preview(wait_count, seed=seed)
        seeds = () if timing.deterministic else range(seed + 1, seed + RUNS)
        runs = [self.run, *(timing.preview(wait_count, seed=other) for other in seeds)]
        self.band = [(min(kth), max(kth)) for kth in zip(*runs, strict=True)]
        self.spread = any(least < most for least, most in self.band)


def draw(axes: Any, curves: Sequence[Curve], scale: str) -> None:
    for number, curve in enumerate(curves, 1):
        style = line_style(number - 1, colors=COLORS)
        points = {k: wait for k, wait in enumerate(curve.run, 1) if drawable(wait, scale)}
        named = {"label": curve.label, "gid": f"curve-{number}"}
        axes.plot([*points], [*points.values()], **style, **named)
        if curve.spread:
            band = {
                k: ends
                for k, ends in enumerate(curve.band, 1)
                if all(drawable(end, scale) for end in ends)
            }
            axes.fill_between(
                list(band),
                [least for least, _ in band.values()],
                [most for _, most in band.values()],
                color=style["color"],
                alpha=0.2,
                linewidth=0,
                gid=f"band-{number}",
                label=f"{curve.label}: range of {RUNS} runs",
            )
    axes.set_xlabel("try")
    axes.set_ylabel("length of the wait after it, s")
    axes.set_yscale(SCALES[scale])
    plain(axes.yaxis)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(visible=True, alpha=0.3)


def drawable(wait: float, scale: str) -> bool:
    return wait < HIGHEST and (wait > 0 or scale == "linear")
