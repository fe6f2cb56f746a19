"""The times at which clients arrive: at a constant rate, at a changing rate, or from a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import inf, isfinite, log
from typing import TypeAlias

Arrivals: TypeAlias = float | Callable[[float], float] | Iterable[float]
"""Arrivals per second; a function from the time, in seconds, to this rate; or a list of times."""
STEPS = 64
"""Steps in a second: a changing rate is constant in each. A multiple of 1/64 is an exact float."""


def arrival_times(arrivals: Arrivals, until: float, random: Callable[[], float]) -> Iterator[float]:
    """Return the times of the arrivals, in order; with a rate, they are a Poisson process.

    A function of the time is called once for each 64th of a second, up to the time `until`.

    >>> list(arrival_times([1, 1, 2.5], until=9, random=lambda: 0.5))
    [1, 1, 2.5]
    """
    if isinstance(arrivals, int | float):
        if not 0 < arrivals < inf:
            raise ValueError(f"arrivals={arrivals!r}: give a finite number per second, above 0.")
        return constant(arrivals, random)
    if callable(arrivals):
        return changing(arrivals, until, random)
    return iter(checked_times(arrivals))


def constant(rate: float, random: Callable[[], float]) -> Iterator[float]:
    time = 0.0
    while True:
        time += -log(1.0 - random()) / rate
        yield time


def changing(
    rate: Callable[[float], float], until: float, random: Callable[[], float]
) -> Iterator[float]:
    """Yield times; between two, the rate's integral grows by an exponential random number."""
    time, step = 0.0, 0
    left = -log(1.0 - random())  # how much the integral grows before the next arrival
    while step < until * STEPS:
        per_second = checked_rate(rate, (step + 0.5) / STEPS)
        end = (step + 1) / STEPS
        while per_second > 0 and (arrival := time + left / per_second) < end:
            yield arrival
            time, left = arrival, -log(1.0 - random())
        left -= per_second * (end - time)
        time, step = end, step + 1


def checked_rate(rate: Callable[[float], float], time: float) -> float:
    per_second: object = rate(time)
    if not isinstance(per_second, int | float) or not (isfinite(per_second) and per_second >= 0):
        raise ValueError(
            f"arrivals= returned {per_second!r} for {time:g} s: return a finite rate, 0 or more."
        )
    return per_second


def checked_times(times: Iterable[float]) -> list[float]:
    before, found = 0.0, [*times]
    for time in found:
        given: object = time
        if not isinstance(given, int | float) or not before <= given < inf:
            raise ValueError(
                f"arrivals= has the time {time!r} after {before:g} s: give seconds in ascending "
                "order, 0 or more."
            )
        before = time
    return found
