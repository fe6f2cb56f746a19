"""Tries of a decorated function inside a circuit breaker.

While the breaker is closed, `guarded` calls the function, and `reported` counts a failure when the
retry loop asks for the next wait. Otherwise, or with a `rate`, tries go through `probing`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import CoroutineType
from typing import Any

from .._limits.breakers import CircuitBreaker
from .._running.tasks_and_timeouts import clock, now
from .._words.commands import raisable
from ..schedules.base import After
from .settings import no_coroutine_function


def guarded(function: Any, awaits: bool, breaker: CircuitBreaker) -> Any:
    def probed(*args: Any, **kwargs: Any) -> Any:
        with probing(breaker, time.monotonic):
            answer = function(*args, **kwargs)
            if answer.__class__ is CoroutineType:
                raise no_coroutine_function(function, answer)
            return answer

    async def probed_async(*args: Any, **kwargs: Any) -> Any:
        with probing(breaker, now):
            return await function(*args, **kwargs)

    probe: Any = probed_async if awaits else probed

    def tried(*args: Any, **kwargs: Any) -> Any:
        if breaker.closed:
            return function(*args, **kwargs) if kwargs else function(*args)
        return probe(*args, **kwargs)

    return probe if breaker.rated else tried


def reported(descent: Callable[[], After], awaits: bool, breaker: CircuitBreaker) -> Any:
    """Wrap `descent` so that `breaker` counts failures: see `CircuitBreaker.counting`."""
    if awaits:
        return lambda: breaker.counting(descent(), clock())
    return lambda: breaker.counting(descent(), time.monotonic)


@contextmanager
def probing(breaker: CircuitBreaker, clock: Callable[[], float]) -> Generator[None]:
    """Admit a try and report its outcome; while `breaker` is closed, `reported` counts failures."""
    probe, settle = breaker.admit(clock()), breaker.release
    try:
        yield
        settle = breaker.succeed
    except Exception as failure:
        blamed = breaker.blames(raisable(failure))
        if blamed and not breaker.closed:
            breaker.fail(probe, clock())
        if blamed is False:
            settle = breaker.succeed
        raise
    finally:
        if breaker.rated and settle == breaker.succeed:
            breaker.count(False, clock())
        settle(probe)
