"""A clock that sleeps move, and a model of a circuit breaker to compare the real one with."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ixbackoff import CircuitBreaker, CircuitOpen


class Clock:
    """Seconds that pass in sleeps only.

    Attributes:
        waits: the sleeps, in seconds.
    """

    def __init__(self) -> None:
        self.now = 100.0
        self.waits: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.waits.append(seconds)

    async def sleep_async(self, seconds: float) -> None:
        self.sleep(seconds)

    def time(self) -> float:
        return self.now


@contextmanager
def clock() -> Iterator[Clock]:
    """Let the time of this process pass in sleeps only, sync and in asyncio."""
    made = Clock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "sleep", made.sleep)
        patch.setattr(time, "monotonic", made.time)
        patch.setattr(asyncio, "sleep", made.sleep_async)
        yield made


class Model:
    """A breaker as its documentation describes it, for one thread."""

    def __init__(self, failures: int, within: float, rest: float) -> None:
        self.failures, self.within, self.rest = failures, within, rest
        self.failed: list[float] = []
        self.until: float | None = None
        self.probe: object = None

    def ask(self, now: float) -> object | None:
        """Begin a try; `None` if it is refused."""
        if self.until is None:
            return object()
        if now < self.until:
            return None
        self.until = now + self.rest
        self.probe = object()
        return self.probe

    def end(self, one: object, outcome: bool | None, now: float) -> None:
        """End a try: well, with a failure, or cancelled (`None`)."""
        if self.until is None:
            if outcome is False:
                self.failed.append(now)
                last = self.failed[-self.failures :]
                if len(last) == self.failures and now - last[0] <= self.within:
                    self.until, self.failed = now + self.rest, []
        elif one is self.probe:
            self.probe = None
            if outcome is None:
                self.until = now
            elif outcome:
                self.until = None
            else:
                self.until = now + self.rest


def opened(rest: float = 30.0) -> CircuitBreaker:
    """A breaker that opened at the time 0."""
    breaker = CircuitBreaker(failures=1, within=1, open_for=rest)
    breaker.fail(0, 0.0)
    assert breaker.state == "open"
    return breaker


def refused(breaker: CircuitBreaker, now: float) -> float:
    """Return the seconds after which a breaker would let a try pass, at the time `now`."""
    with pytest.raises(CircuitOpen) as caught:
        breaker.admit(now)
    return caught.value.retry_after or 0.0
