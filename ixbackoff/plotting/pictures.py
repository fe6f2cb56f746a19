"""Waits over the number of the attempt, on linear and on logarithmic axes, as PNG and SVG."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from ..schedules.kinds import Timing

SCALES = {"linear": "linear", "logarithmic": "log"}
FORMATS = ("png", "svg")
INCHES = (8.0, 5.0)
RUNS = 100
HIGHEST = 1e100  # seconds; the margins above need floats too
COLORS = ("tab:blue", "tab:green", "tab:orange", "tab:red", "tab:purple", "tab:brown")
SAME = {"svg.hashsalt": "ixbackoff", "svg.fonttype": "none"}
"""The same picture is the same file, and its words can be searched."""


def plot(
    schedules: Mapping[str, Timing],
    folder: str | PathLike[str] = ".",
    *,
    waits: int = 20,
    seed: int = 1,
    name: str = "waits",
) -> list[Path]:
    """Draw the waits of each schedule: four files, whose paths it returns.

    A line is one run. Around it, where random numbers are drawn, is the band in which a hundred
    runs stay.

    >>> from tempfile import TemporaryDirectory
    >>> from ixbackoff.published import post_blue, post_green
    >>> with TemporaryDirectory() as folder:
    ...     files = plot({"blue": post_blue, "green": post_green}, folder)
    >>> [file.name for file in files]
    ['waits-linear.png', 'waits-linear.svg', 'waits-logarithmic.png', 'waits-logarithmic.svg']

    Args:
        schedules: what is drawn, by the names that stand in the legend; those that shorten too.
        folder: where the files go; it is made if there is none, and files of these names are
            replaced.
        waits: how many waits are drawn.
        seed: of the random numbers, so that the same pictures can be drawn again; the band has
            those that follow, too.
        name: how the names of the files begin.

    Raises:
        TypeError: one of them is no schedule.
        ValueError: there is nothing to draw, or a schedule gives no usable number of seconds.
        ImportError: matplotlib is missing; with what to install.
        OSError: the folder cannot be written to.
    """
    for timing in schedules.values():
        if not isinstance(timing, Timing):
            raise TypeError(f"plot(...): {timing!r} is no schedule.")
    if not schedules or waits < 1:
        raise ValueError(f"plot({dict(schedules)!r}, waits={waits!r}): give one of each at least.")
    with needed():  # what its stubs leave out is Any
        matplotlib: Any = import_module("matplotlib")
        figures: Any = import_module("matplotlib.figure")
    curves = [Curve(label, timing, waits, seed) for label, timing in schedules.items()]
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    for scale in SCALES:
        with matplotlib.rc_context(SAME):
            figure: Any = figures.Figure(figsize=INCHES, layout="constrained")
            plotted(figure.add_subplot(), curves, scale)
            for form in FORMATS:
                files.append(place / f"{name}-{scale}.{form}")
                figure.savefig(files[-1], metadata={"Date": None} if form == "svg" else None)
    return files


class Curve:
    """One run, and between what bounds a hundred of them stay."""

    def __init__(self, label: str, timing: Timing, waits: int, seed: int) -> None:
        self.label = label.lstrip("_")  # one that begins so would be left out of the legend
        self.run = timing.preview(waits, seed=seed)
        seeds = () if timing.deterministic else range(seed + 1, seed + RUNS)
        runs = [self.run, *(timing.preview(waits, seed=other) for other in seeds)]
        self.band = [(min(kth), max(kth)) for kth in zip(*runs, strict=True)]
        self.spread = any(least < most for least, most in self.band)


def plotted(axes: Any, curves: Sequence[Curve], scale: str) -> None:
    """The curves on their axes."""
    for number, curve in enumerate(curves, 1):
        color = COLORS[(number - 1) % len(COLORS)]
        points = {k: wait for k, wait in enumerate(curve.run, 1) if drawable(wait, scale)}
        axes.plot(
            list(points),
            list(points.values()),
            color=color,
            marker=".",
            label=curve.label,
            gid=f"curve-{number}",
        )
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
                color=color,
                alpha=0.2,
                linewidth=0,
                gid=f"band-{number}",
            )
    axes.set_xlabel("attempt")
    axes.set_ylabel("seconds of the wait after it")
    axes.set_yscale(SCALES[scale])
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(visible=True, alpha=0.3)
    axes.legend()


def drawable(wait: float, scale: str) -> bool:
    """Whether there is a place for it on the axis."""
    return wait < HIGHEST and (wait > 0 or scale == "linear")


@contextmanager
def needed() -> Generator[None]:
    """Where the package of the extra is imported.

    Raises:
        ImportError: it is missing; with what to install.
    """
    try:
        yield
    except ImportError as error:
        if error.name != "matplotlib":
            raise
        message = "drawing needs matplotlib: pip install 'ixbackoff[plot]'"
        raise ImportError(message, name=error.name) from None
