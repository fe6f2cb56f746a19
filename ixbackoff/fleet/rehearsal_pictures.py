"""A picture of a simulation: requests, load and latency over time."""

from __future__ import annotations

from math import nan
from pathlib import Path

from ..plotting.styles import headline, legend, line_style
from .drawing import drawing
from .outcomes import Outcome
from .simulation import Outage

INCHES = (9.0, 7.0)


def draw(outcome: Outcome, stopped: Outage, folder: Path) -> list[Path]:
    """Draw requests and ends of runs, the load of the service, and the latency of its answers.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     files = draw(Outcome((), 1, 0, 0.0, ()), Outage(0, 1), Path(folder))
    >>> [file.name for file in files]
    ['simulation.png', 'simulation.svg']

    Raises:
        ImportError: matplotlib is missing; with what to install.
        OSError: the folder cannot be written to.
    """
    seconds = outcome.seconds
    times = [number + 1 for number in range(len(seconds))]
    curves: list[tuple[str, dict[str, list[float]]]] = [
        (
            "per second",
            {
                "requests": [second.asked for second in seconds],
                "runs that ended well": [second.well for second in seconds],
                "runs that gave up": [second.gave_up for second in seconds],
            },
        ),
        ("requests in the service", {"": [second.load for second in seconds]}),
        ("latency, s", {"": [second.latency if second.answered else nan for second in seconds]}),
    ]
    with drawing(folder, "simulation", INCHES) as (figure, files):
        axes = figure.subplots(len(curves), 1, sharex=True)
        for plot, (label, lines) in zip(axes, curves, strict=True):
            for number, (name, values) in enumerate(lines.items()):
                style = line_style(number, len(times))
                plot.plot(times, values, **style, label=name or None)
            plot.axvspan(*stopped.span, color="0.9", label="the service is stopped")
            plot.set_ylabel(label)
            plot.grid(visible=True, alpha=0.3)
        axes[-1].set_xlabel("time, s")
        well = outcome.total(lambda second: second.well)
        gave_up = outcome.total(lambda second: second.gave_up)
        headline(figure, f"{well:,} runs ended well, {gave_up:,} gave up")
        legend(figure, axes[0])
    return files
