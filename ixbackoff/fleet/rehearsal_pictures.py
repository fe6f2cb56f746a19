"""A picture of a simulation: requests, load and latency over time."""

from __future__ import annotations

from pathlib import Path

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
        ("in the service", {"": [second.load for second in seconds]}),
        ("latency, s", {"": [second.latency for second in seconds]}),
    ]
    with drawing(folder, "simulation", INCHES) as (figure, files):
        axes = figure.subplots(len(curves), 1, sharex=True)
        for plot, (label, lines) in zip(axes, curves, strict=True):
            for name, values in lines.items():
                plot.plot(times, values, label=name or None)
            plot.axvspan(*stopped.span, color="0.9")
            plot.set_ylabel(label)
            plot.grid(visible=True, alpha=0.3)
        axes[0].legend()
        axes[-1].set_xlabel("seconds")
    return files
