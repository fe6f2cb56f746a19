"""Measuring functions side by side: in one process, in turns, by medians."""

from __future__ import annotations

import resource
from collections.abc import Callable, Sequence
from statistics import median
from subprocess import DEVNULL, run
from time import process_time
from typing import NamedTuple


class Target(NamedTuple):
    """One line of the table: a ratio and its bound.

    Attributes:
        what: the name of the measurement.
        ratio: the result.
        bound: the least or the most that the ratio may be.
        at_least: true if the bound is the least, false if it is the most.
        detail: the measurements behind the ratio.
    """

    what: str
    ratio: float
    bound: float
    at_least: bool
    detail: str

    @property
    def met(self) -> bool:
        return self.ratio >= self.bound if self.at_least else self.ratio <= self.bound

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        verdict = "met" if self.met else "MISSED"
        return (
            f"{self.what:60} {self.ratio:6.2f}  {sign} {self.bound:4g}  {verdict:6}  {self.detail}"
        )


def interleaved(functions: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Return the median CPU seconds of each function; they take turns, so all share the noise."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, taken in zip(functions, times, strict=True):
            begun = process_time()
            function()
            taken.append(process_time() - begun)
    return [median(taken) for taken in times]


def cpu_seconds(command: Sequence[str]) -> float:
    """Run a command, and return the user and system time that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(command, check=True, stdout=DEVNULL)  # noqa: S603
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
