"""Waits over the number of the attempt, on linear and on logarithmic axes, as PNG and SVG."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from ..schedules import Timing

SCALES = {"linear": "linear", "logarithmic": "log"}
FORMATS = ("png", "svg")
INCHES = (8.0, 5.0)
HIGHEST = 1e100  # seconds; the margins above need floats too
COLORS = ("tab:blue", "tab:green", "tab:orange", "tab:red", "tab:purple", "tab:brown")
SAME = {"svg.hashsalt": "ixbackoff", "svg.fonttype": "none"}
"""The same picture is the same file, and its words can be searched."""


def draw(
    timings: Mapping[str, Timing], folder: Path, *, waits: int = 20, seed: int = 1
) -> list[Path]:
    """Draw the waits of one run of each: four files, whose paths it returns.

    >>> from tempfile import TemporaryDirectory
    >>> from ixbackoff.published import post_blue, post_green
    >>> with TemporaryDirectory() as folder:
    ...     files = draw({"blue": post_blue, "green": post_green}, Path(folder))
    >>> [file.name for file in files]
    ['waits-linear.png', 'waits-linear.svg', 'waits-logarithmic.png', 'waits-logarithmic.svg']

    Args:
        timings: what is drawn, by the names that stand in the legend; schedules, and those that
            shorten too.
        folder: where the files go; it is made if there is none, and files of these names are
            replaced.
        waits: how many waits are drawn.
        seed: of the random numbers, so that the same pictures can be drawn again.

    Raises:
        ValueError: there is nothing to draw.
        ImportError: matplotlib is missing; with what to install.
        OSError: the folder cannot be written to.
    """
    if not timings or waits < 1:
        raise ValueError(f"draw({dict(timings)!r}, waits={waits!r}): give one of each at least.")
    with needed():  # what its stubs leave out is Any
        matplotlib: Any = import_module("matplotlib")
        figures: Any = import_module("matplotlib.figure")
    runs = {name: timing.preview(waits, seed=seed) for name, timing in timings.items()}
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    for scale in SCALES:
        with matplotlib.rc_context(SAME):
            figure: Any = figures.Figure(figsize=INCHES, layout="constrained")
            plotted(figure.add_subplot(), runs, scale)
            for form in FORMATS:
                files.append(folder / f"waits-{scale}.{form}")
                figure.savefig(files[-1], metadata={"Date": None} if form == "svg" else None)
    return files


def plotted(axes: Any, runs: Mapping[str, list[float]], scale: str) -> None:
    """The curves on their axes."""
    for place, (name, run) in enumerate(runs.items()):
        points = {k + 1: wait for k, wait in enumerate(run) if drawable(wait, scale)}
        axes.plot(
            list(points),
            list(points.values()),
            color=COLORS[place % len(COLORS)],
            marker=".",
            label=name.lstrip("_"),  # one that begins so would be left out of the legend
            gid=f"curve-{place + 1}",
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
