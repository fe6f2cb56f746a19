"""What calls a plain function, again while it fails: the two loops, sync and async."""

from __future__ import annotations

import time
from types import CoroutineType
from typing import Any

from .calls import call, call_async
from .commands import is_coroutine_function
from .eventloops import sleeping
from .failures import Transient, asked_for
from .loops import stopped
from .nesting import begun, end
from .plain import (
    LONGEST_SLEEP,
    OTHERS,
    check_function,
    interpreter,
    interpreter_async,
    listener,
    log,
    no_coroutine_function,
    unheard,
)
from .runs import noted
from .vocabulary import INFO, delay


def caller(backoff: Any, function: Any) -> Any:
    """What calls `function`, and is what the program of such a call is, many times as fast.

    A law says so; with a deadline, a budget or another interpreter it is that program. `backoff` is
    a `Backoff`, which is made of this.
    """
    check_function(function)
    if is_coroutine_function(function):
        return caller_async(backoff, function)
    begin, generic, top = backoff._begin, backoff._generic, backoff._top
    kinds, chosen = backoff._kinds, backoff._chosen

    def retried(*args: Any, **kwargs: Any) -> Any:
        if generic or OTHERS.get() is not None:
            program = backoff._program(call(function, *args, **kwargs))
            return program.run(interpreter(), **backoff._how())
        mark = begun(backoff) if top else None
        k, shortest, waited = 0, 0.0, 0.0
        waits, wanted = None, unheard
        try:
            while True:
                try:
                    answer = function(*args, **kwargs) if kwargs else function(*args)  # faster
                    if answer.__class__ is not CoroutineType:
                        return answer
                    raise no_coroutine_function(function, answer)
                except Exception as failure:
                    if k == top or not (isinstance(failure, kinds) or chosen(failure)):
                        raise
                    if waits is None:
                        waits, wanted = begin(), listener()
                    seconds = waits(k)
                    if seconds > shortest:
                        shortest = seconds
                    if isinstance(failure, Transient):
                        shortest = max(shortest, asked_for(failure))
                    if wanted(INFO):
                        log(delay(shortest, top - k, failure))
                time.sleep(shortest if shortest < LONGEST_SLEEP else LONGEST_SLEEP)
                waited += shortest
                k += 1
        except StopIteration as failure:  # as of a handler
            raise noted(stopped(failure), tries=k + 1, waits=k, waited=waited) from failure
        except Exception as failure:
            noted(failure, tries=k + 1, waits=k, waited=waited)
            raise
        finally:
            end(mark)

    return retried


def caller_async(backoff: Any, function: Any) -> Any:
    begin, generic, top = backoff._begin, backoff._generic, backoff._top
    kinds, chosen = backoff._kinds, backoff._chosen

    async def retried(*args: Any, **kwargs: Any) -> Any:
        if generic or OTHERS.get() is not None:
            program = backoff._program(call_async(function, *args, **kwargs))
            return await program.run_async(interpreter_async(), **backoff._how())
        mark = begun(backoff) if top else None
        k, shortest, waited = 0, 0.0, 0.0
        waits, wanted, sleep = None, unheard, None
        try:
            while True:
                try:
                    return await (function(*args, **kwargs) if kwargs else function(*args))
                except Exception as failure:  # as above: what both share would cost a call
                    if k == top or not (isinstance(failure, kinds) or chosen(failure)):
                        raise
                    if waits is None:
                        waits, wanted = begin(), listener()
                    seconds = waits(k)
                    if seconds > shortest:
                        shortest = seconds
                    if isinstance(failure, Transient):
                        shortest = max(shortest, asked_for(failure))
                    if wanted(INFO):
                        log(delay(shortest, top - k, failure))
                sleep = sleep or sleeping()
                await sleep(shortest if shortest < LONGEST_SLEEP else LONGEST_SLEEP)
                waited += shortest
                k += 1
        except Exception as failure:
            noted(failure, tries=k + 1, waits=k, waited=waited)
            raise
        finally:
            end(mark)

    return retried
