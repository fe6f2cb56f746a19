"""Schedules as they have been published, by their names."""

from __future__ import annotations

from math import inf
from typing import final

from .schedules import Constant, Exponential
from .timings import Chance, Schedule, Waits, any_chance, is_finite, never_shorter


def aws_polling(max_wait_interval: float) -> Schedule:
    """Waits of 2^k * 100 ms, at most `max_wait_interval` seconds, and no jitter.

    From the polling loop of the AWS General Reference ("Error retries and exponential backoff in
    AWS"), where the longest wait and the number of polls belong to the operation.

    >>> aws_polling(max_wait_interval=1).preview(5)
    [0.1, 0.2, 0.4, 0.8, 1.0]

    Raises:
        ValueError: `max_wait_interval` is less than 0.1, or not finite.
    """
    return Exponential(0.1, 2.0, cap=max_wait_interval)


def thain(timeout: float, maximum: float, factor: float = 2.0) -> Schedule:
    """MIN(R * T * F^N, M), with R evenly between 1 and 2.

    From "Exponential Backoff in Distributed Systems" (Douglas Thain, 2009). At the cap it loses its
    spread: everyone waits exactly M.

    >>> thain(timeout=0.01, maximum=1).longest(10)
    1.0

    Args:
        timeout: T, seconds: the outer limit of the response time, such as its 99th percentile.
        maximum: M, seconds: as short as the customers want, and so long that clients / M is a
            rate of failed requests that the service can hold.
        factor: F.

    Raises:
        ValueError: `timeout` is not above 0, `factor` is less than 1, or `maximum` is negative.
    """
    return Exponential(timeout, factor).jittered(2.0) & Constant(maximum)


@final
class WholeSeconds(Schedule):
    """The waits of a schedule, without the fractions of their seconds.

    >>> WholeSeconds(Exponential(0.7)).preview(4)
    [0.0, 1.0, 2.0, 5.0]
    """

    __slots__ = ("schedule",)

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule

    @property
    def deterministic(self) -> bool:
        return self.schedule.deterministic

    def begin(self, chance: Chance | None = None) -> Waits:
        waits = self.schedule.begin(chance)
        return lambda k: float(int(waits(k)))

    def longest(self, k: int) -> float:
        longest = self.schedule.longest(k)
        return longest if longest == inf else float(int(longest))


fault_tolerant_shell: Schedule = WholeSeconds(Exponential(1.0, 2.0, cap=3600.0).jittered(2.0))
"""The fault tolerant shell's: 1 s, doubled, at most an hour, and then spread, in whole seconds.

Since the spread comes after the cap, waits are spread there too, up to two hours.
"""


@final
class NormalJitter(Schedule):
    """Waits that grow by `factor` from `min_delay` to `max_delay`, with a normal jitter on top.

    From the pseudo-code of "Exponential backoff or how not to crash a server": after each wait,
    `delay = min(delay * factor, max_delay)`, then `delay += N(0, delay * jitter)`. The jitter is
    carried over into the waits that follow, and it comes after the cap, so nothing bounds a wait.
    Where one would be shorter than the one before, it is as long.

    >>> NormalJitter(min_delay=0.1, factor=2.7, jitter=0.0, max_delay=600).preview(3)
    [0.1, 0.27, 0.7290000000000001]

    Raises:
        ValueError: `min_delay` is not above 0, `factor` is less than 1, `jitter` is negative, or
            `max_delay` is less than `min_delay`.
    """

    __slots__ = ("min_delay", "factor", "jitter", "max_delay")

    def __init__(self, min_delay: float, factor: float, jitter: float, max_delay: float) -> None:
        if not (is_finite(jitter) and jitter >= 0):
            raise ValueError(f"jitter={jitter!r}: give a share of the wait, 0 or more.")
        Exponential(min_delay, factor, max_delay)  # says what is wrong with them
        self.min_delay = float(min_delay)
        self.factor = float(factor)
        self.jitter = float(jitter)
        self.max_delay = float(max_delay)

    @property
    def deterministic(self) -> bool:
        return self.jitter == 0

    def begin(self, chance: Chance | None = None) -> Waits:
        normal = (chance or any_chance()).normalvariate
        delay, drawn = self.min_delay, 0

        def waits(k: int) -> float:
            nonlocal delay, drawn
            while drawn < k:
                delay = min(delay * self.factor, self.max_delay)
                if self.jitter:
                    delay += normal(0.0, abs(delay) * self.jitter)
                drawn += 1
            return delay

        return never_shorter(waits)

    def longest(self, k: int) -> float:
        return self.begin()(k) if self.deterministic else inf


post_blue = NormalJitter(min_delay=0.1, factor=2.7, jitter=0.1, max_delay=600.0)
post_green = NormalJitter(min_delay=1.0, factor=1.5, jitter=0.1, max_delay=300.0)
"""The two of the post's plots."""
