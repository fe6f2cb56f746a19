"""Calls of a plain function through a circuit breaker, as the machine guards a try."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import CoroutineType
from typing import Any

from .._limits.breakers import Breaker
from .._running.eventloops import now
from .._words.commands import stopped
from .functions import no_coroutine_function


def guarded(function: Any, breaker: Breaker | None) -> Any:
    """Make a function that calls `function` through `breaker`, if there is one."""
    if breaker is None:
        return function
    enter, probe, succeed, clock = breaker.enter, breaker.probe, breaker.succeed, time.monotonic

    def called(*args: Any, **kwargs: Any) -> Any:
        ticket = enter()
        try:
            if ticket is None:
                ticket = probe(clock())
            answer = function(*args, **kwargs) if kwargs else function(*args)
            if answer.__class__ is CoroutineType:
                raise no_coroutine_function(function, answer)
        except BaseException as failure:
            settle(breaker, ticket, failure, clock)
            raise
        succeed(ticket)
        return answer

    return called


def guarded_async(function: Any, breaker: Breaker | None) -> Any:
    """As `guarded`, for a coroutine function."""
    if breaker is None:
        return function
    enter, probe, succeed = breaker.enter, breaker.probe, breaker.succeed

    async def called(*args: Any, **kwargs: Any) -> Any:
        ticket = enter()
        try:
            if ticket is None:
                ticket = probe(now())
            answer = await (function(*args, **kwargs) if kwargs else function(*args))
        except BaseException as failure:
            settle(breaker, ticket, failure, now)
            raise
        succeed(ticket)
        return answer

    return called


def settle(
    breaker: Breaker, ticket: int | None, failure: BaseException, clock: Callable[[], float]
) -> None:
    """Tell the breaker the failure of the try with this ticket; `None` was not let through."""
    if ticket is None:
        return
    settled = breaker.release
    try:
        blamed = breaker.blames(stopped(failure) if isinstance(failure, StopIteration) else failure)
        if blamed:
            breaker.fail(ticket, clock())
        elif blamed is False:
            settled = breaker.succeed
    finally:
        settled(ticket)
