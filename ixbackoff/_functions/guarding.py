"""Calls of a plain function through a circuit breaker, as the machine guards a try.

While the breaker is closed, a call costs one look at it, and a failure is heard where the loop asks
how long to wait.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import CoroutineType
from typing import Any, TypeAlias

from .._limits.breakers import CircuitBreaker
from .._meaning.descents import After
from .._running.eventloops import clock, now
from .._words.commands import stopped
from .functions import no_coroutine_function

Guarded: TypeAlias = tuple[Any, Callable[[], After]]
"""A function that goes through a breaker, and what begins its retries."""

Settled: TypeAlias = Callable[[int], None]


def guarded(function: Any, breaker: CircuitBreaker, descent: Callable[[], After]) -> Guarded:
    """Have `function` go through `breaker`."""

    def probed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        probe = breaker.admit(time.monotonic())
        settled: Settled = breaker.release
        try:
            answer = function(*args, **kwargs)
            if answer.__class__ is CoroutineType:
                raise no_coroutine_function(function, answer)
            settled = breaker.succeed
        except Exception as failure:
            settled = outcome_of(breaker, probe, failure, time.monotonic)
            raise
        else:
            return answer
        finally:
            settled(probe)

    def called(*args: Any, **kwargs: Any) -> Any:
        if breaker.closed:
            return function(*args, **kwargs) if kwargs else function(*args)
        return probed(args, kwargs)

    return called, lambda: breaker.told(descent(), time.monotonic)


def guarded_async(function: Any, breaker: CircuitBreaker, descent: Callable[[], After]) -> Guarded:
    """As `guarded`, for a coroutine function."""

    async def probed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        probe = breaker.admit(now())
        settled: Settled = breaker.release
        try:
            answer = await function(*args, **kwargs)
            settled = breaker.succeed
        except Exception as failure:
            settled = outcome_of(breaker, probe, failure, now)
            raise
        else:
            return answer
        finally:
            settled(probe)

    def called(*args: Any, **kwargs: Any) -> Any:
        if breaker.closed:
            return function(*args, **kwargs) if kwargs else function(*args)
        return probed(args, kwargs)

    return called, lambda: breaker.told(descent(), clock())


def outcome_of(
    breaker: CircuitBreaker, probe: int, failure: Exception, clock: Callable[[], float]
) -> Settled:
    """Tell `breaker` the failure of a probe, if it counts; return what settles it otherwise.

    Once the breaker is closed, the failure is heard in the loop, as that of any other try.
    """
    # Nothing but the `except` of a caller holds the failure, or the failure would hold itself.
    blamed = breaker.blames(stopped(failure) if isinstance(failure, StopIteration) else failure)
    if blamed and not breaker.closed:
        breaker.fail(probe, clock())
    return breaker.succeed if blamed is False else breaker.release
