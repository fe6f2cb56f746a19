"""Schedules of articles, libraries and manuals."""

from __future__ import annotations

from math import inf
from typing import Final, final

from .._words.checks import finite
from .algebra import Changed, Schedule
from .base import Chance, WaitFunction, any_chance, begun, never_shorter
from .kinds import Constant, Exponential


def aws_polling(max_wait_interval: float) -> Schedule:
    """Make waits of 2^k * 100 ms, at most `max_wait_interval` seconds, without jitter.

    From the polling loop of the AWS General Reference ("Error retries and exponential backoff in
    AWS"), where each operation has its own longest wait and number of polls.

    >>> aws_polling(max_wait_interval=1).preview(5)
    [0.1, 0.2, 0.4, 0.8, 1.0]

    Raises:
        ValueError: `max_wait_interval` is less than 0.1, or not finite.
    """
    return Exponential(0.1, 2.0, cap=max_wait_interval)


def thain(timeout: float, maximum: float, factor: float = 2.0) -> Schedule:
    """Make waits of MIN(R * T * F^N, M), with R evenly distributed between 1 and 2.

    From "Exponential Backoff in Distributed Systems" (Douglas Thain, 2009). At the cap the spread
    is lost: every client waits exactly M.

    >>> thain(timeout=0.01, maximum=1).longest(10)
    1.0

    Args:
        timeout: T, in seconds: an upper limit of the response time, such as its 99th percentile.
        maximum: M, in seconds: no longer than customers accept, but long enough for the service to
            answer one request of every client within M seconds.
        factor: F, 1 or more.

    Raises:
        ValueError: `timeout` is not above 0, `factor` is less than 1, or `maximum` is negative.
    """
    cap = Constant(maximum)
    return Exponential(timeout, factor, cap=max(timeout, cap.every)).jittered(2.0) & cap


@final
class WholeSeconds(Changed):
    """The waits of a schedule, rounded down to whole seconds.

    >>> from ixbackoff import Exponential
    >>> WholeSeconds(Exponential(0.7)).preview(4)
    [0.0, 1.0, 2.0, 5.0]

    Raises:
        TypeError: `schedule` is not a `Schedule`.
    """

    __slots__ = ()

    def begin(self, chance: Chance | None = None) -> WaitFunction:
        waits = begun(self.schedule, chance)
        return lambda k: rounded_down(waits(k))

    def longest(self, k: int) -> float:
        return rounded_down(self.schedule.longest(k))


def rounded_down(seconds: float) -> float:
    return seconds if seconds == inf else float(int(seconds))


fault_tolerant_shell: Final[Schedule] = WholeSeconds(
    Exponential(base=1.0, factor=2.0, cap=3600.0).jittered(2.0)
)
"""The schedule of `try` in the fault tolerant shell (Douglas Thain): 1 s, doubled up to an hour,
then times U[1, 2], in whole seconds. The spread is applied after the cap, so at the cap waits take
one to two hours. A wait that would be shorter than the one before is made as long as that one."""


@final
class NormalJitter(Schedule):
    """Waits that grow by `factor` from `min_delay` to `max_delay`, with a normal jitter on top.

    From the pseudo-code of "Exponential Backoff or how not to crash a server": the first wait is
    `min_delay`; after each, `delay = min(delay * factor, max_delay)`, then
    `delay += N(0, delay * jitter)`. The jitter is carried over into the waits that follow. It is
    applied after the cap, so nothing bounds a wait. A wait that the pseudo-code would shorten is
    made as long as the one before.

    >>> NormalJitter(min_delay=0.1, factor=3, jitter=0, max_delay=2).preview(4)
    [0.1, 0.30000000000000004, 0.9000000000000001, 2.0]

    Args:
        min_delay: seconds of the first wait.
        factor: the ratio of each wait to the one before, without the jitter.
        jitter: the standard deviation, as a share of the wait.
        max_delay: seconds of the longest wait, without the jitter.

    Raises:
        ValueError: `min_delay` is not above 0, `factor` is less than 1, `jitter` is negative, or
            `max_delay` is less than `min_delay`.
    """

    __slots__ = ("min_delay", "factor", "jitter", "max_delay")
    sound = True

    def __init__(self, min_delay: float, factor: float, jitter: float, max_delay: float) -> None:
        for name, seconds in ("min_delay", min_delay), ("max_delay", max_delay):
            if not finite(seconds) >= finite(min_delay) > 0:
                raise ValueError(
                    f"{name}={seconds!r}: give seconds above 0, and a max_delay of min_delay or "
                    "more."
                )
        if not finite(factor) >= 1:
            raise ValueError(f"factor={factor!r}: give 1 or more: waits never shorten.")
        if not finite(jitter) >= 0:
            raise ValueError(f"jitter={jitter!r}: give a share of the wait, 0 or more.")
        self.min_delay: Final = finite(min_delay)
        self.factor: Final = finite(factor)
        self.jitter: Final = finite(jitter)
        self.max_delay: Final = finite(max_delay)

    @property
    def deterministic(self) -> bool:
        return self.jitter == 0

    def begin(self, chance: Chance | None = None) -> WaitFunction:
        return never_shorter(self.delays(chance))

    def delays(self, chance: Chance | None) -> WaitFunction:
        """Begin the waits of one run as the pseudo-code computes them; they can shorten."""
        normal = (chance or any_chance()).normalvariate if self.jitter else None
        delay, at = self.min_delay, 0

        def delays(k: int) -> float:
            nonlocal delay, at
            while at < k:  # each wait is computed from the one before, even if k skips some
                delay = min(delay * self.factor, self.max_delay)
                delay += normal(0.0, abs(delay) * self.jitter) if normal else 0.0
                at += 1
            return delay

        return delays


post_blue: Final = NormalJitter(min_delay=0.1, factor=2.7, jitter=0.1, max_delay=600.0)
"""The blue graph of "Exponential Backoff or how not to crash a server"."""

post_green: Final = NormalJitter(min_delay=1.0, factor=1.5, jitter=0.1, max_delay=300.0)
"""The green graph of "Exponential Backoff or how not to crash a server"."""
