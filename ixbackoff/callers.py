"""What calls a plain function, again while it fails: the two loops, sync and async."""

from __future__ import annotations

import time
from types import CoroutineType
from typing import Any

from .calls import call, call_async
from .commands import is_coroutine_function
from .eventloops import sleeping
from .loops import stopped
from .nesting import RUNNING, multiplied
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

running, run_in, others = RUNNING.get, RUNNING.set, OTHERS.get


def caller(backoff: Any, function: Any) -> Any:
    """What calls `function`, and is what the program of such a call is, many times as fast.

    A law says so; with a deadline, a budget or another interpreter it is that program. `backoff` is
    a `Backoff`, which is made of this.
    """
    check_function(function)
    if is_coroutine_function(function):
        return caller_async(backoff, function)
    generic, top, descent = backoff._generic, backoff._top, backoff._descent

    def retried(*args: Any, **kwargs: Any) -> Any:
        if generic or others() is not None:
            program = backoff._program(call(function, *args, **kwargs))
            return program.run(interpreter(), **backoff._how())
        if top:
            if running():
                raise multiplied()
            run_in(mark := [backoff])
        k, waited, after, wanted = 0, 0.0, None, unheard
        try:
            while True:
                try:
                    answer = function(*args, **kwargs) if kwargs else function(*args)  # faster
                    if answer.__class__ is not CoroutineType:
                        return answer
                    raise no_coroutine_function(function, answer)
                except Exception as failure:
                    if after is None:
                        after, wanted = descent(), listener()
                    seconds = after(failure)
                    if seconds is None:
                        raise
                    if wanted(INFO):
                        log(delay(seconds, top - k, failure))
                time.sleep(seconds if seconds < LONGEST_SLEEP else LONGEST_SLEEP)
                waited += seconds
                k += 1
        except StopIteration as failure:  # as of a handler
            raise noted(stopped(failure), tries=k + 1, waits=k, waited=waited) from failure
        except Exception as failure:
            noted(failure, tries=k + 1, waits=k, waited=waited)
            raise
        finally:
            if top:
                mark.clear()

    return retried


def caller_async(backoff: Any, function: Any) -> Any:
    """As `caller`."""
    generic, top, descent = backoff._generic, backoff._top, backoff._descent

    async def retried(*args: Any, **kwargs: Any) -> Any:
        if generic or others() is not None:
            program = backoff._program(call_async(function, *args, **kwargs))
            return await program.run_async(interpreter_async(), **backoff._how())
        if top:
            if running():
                raise multiplied()
            run_in(mark := [backoff])
        k, waited, after, wanted, sleep = 0, 0.0, None, unheard, None
        try:
            while True:
                try:
                    return await (function(*args, **kwargs) if kwargs else function(*args))
                except Exception as failure:
                    if after is None:
                        after, wanted = descent(), listener()
                        sleep = sleeping()
                    seconds = after(failure)
                    if seconds is None:
                        raise
                    if wanted(INFO):
                        log(delay(seconds, top - k, failure))
                await sleep(seconds if seconds < LONGEST_SLEEP else LONGEST_SLEEP)
                waited += seconds
                k += 1
        except Exception as failure:
            noted(failure, tries=k + 1, waits=k, waited=waited)
            raise
        finally:
            if top:
                mark.clear()

    return retried
