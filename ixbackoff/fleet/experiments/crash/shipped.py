"""The waits of the post's client as it was published, which are not those of its text."""

from __future__ import annotations

from math import log
from typing import Final, final

from ...._words.checks import finite
from ....schedules.shortening import Shortening
from ....schedules.timings import Chance, WaitFunction, any_chance
from .clients import FACTOR, LONGEST, THINK

DEVIATION = 0.1


@final
class PostShipped(Shortening):
    """Waits that begin with the time to think; each is made of the one before it.

    The program that was published with "Exponential Backoff or how not to crash a server" keeps
    both in one variable. So its first wait after a failure is `factor` times as long as the client
    has just thought, and its jitter does not grow with the wait. A wait can be shorter than the
    one before.

    >>> waits = PostShipped(think=10, deviation=0).preview(3, seed=1)
    >>> waits[1] / waits[0], waits[2] / waits[1]
    (2.71828, 2.71828)

    Args:
        think: mean seconds of wait 0, exponentially distributed.
        factor: how much longer each wait is than the one before, but for the jitter.
        deviation: the standard deviation of the jitter, seconds.
        max_delay: seconds of the longest wait after a failure, but for the jitter.

    Raises:
        ValueError: `think`, `factor` or `max_delay` is not above 0, or `deviation` is negative.
    """

    __slots__ = ("think", "factor", "deviation", "max_delay")

    def __init__(
        self,
        think: float = THINK,
        factor: float = FACTOR,
        deviation: float = DEVIATION,
        max_delay: float = LONGEST,
    ) -> None:
        for name, value in ("think", think), ("factor", factor), ("max_delay", max_delay):
            if not finite(value) > 0:
                raise ValueError(f"{name}={value!r}: give a number above 0.")
        if not finite(deviation) >= 0:
            raise ValueError(f"deviation={deviation!r}: give seconds, 0 or more.")
        self.think: Final = float(think)
        self.factor: Final = float(factor)
        self.deviation: Final = float(deviation)
        self.max_delay: Final = float(max_delay)

    def begin(self, chance: Chance | None = None) -> WaitFunction:
        chosen = chance or any_chance()
        delay = -self.think * log(1.0 - chosen.uniform(0.0, 1.0 - 1e-12))
        at = 0

        def waits(k: int) -> float:
            nonlocal delay, at
            while at < k:
                delay = min(delay * self.factor, self.max_delay)
                delay += chosen.normalvariate(0.0, self.deviation)
                at += 1
            return max(0.0, delay)  # nobody waits less than no time

        return waits
