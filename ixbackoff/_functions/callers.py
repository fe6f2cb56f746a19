"""Calls of a plain function, again while it fails: the two loops, sync and async.

They do the same as the program of such a call, many times as fast; a law compares them. With a
deadline, a budget or another interpreter they run that program instead.
"""

from __future__ import annotations

from types import CoroutineType
from typing import Any

from .._limits.nesting import HERE, RUNNING, Mark, begins, check_alone
from .._meaning.runs import noted
from .._running.sleeping import LONGEST_SLEEP, awaitable, blocking, listener, log
from .._words.calls import call, call_async
from .._words.commands import is_coroutine_function, stopped
from .._words.vocabulary import INFO, delay
from .answering import OTHERS, SWAPPED, interpreter, interpreter_async
from .functions import check_function, no_coroutine_function

running, run_in, here, others = RUNNING.get, RUNNING.set, HERE, OTHERS.get


def caller(backoff: Any, function: Any) -> Any:
    """Make a function that calls `function`, and again while it fails, as `backoff` says."""
    check_function(function)
    if is_coroutine_function(function):
        return caller_async(backoff, function)
    generic, top, descent = backoff._generic, backoff._top, backoff._descent
    swapped = [True] if generic else SWAPPED
    waits = backoff if top else None

    def retried(*args: Any, **kwargs: Any) -> Any:
        if swapped and (generic or others() is not None):
            program = backoff._program(call(function, *args, **kwargs))
            return program.run(interpreter(), **backoff._how())
        last = here.last
        if (running()[0] is not None or last[0][0] is not None or last[1]) and top:
            check_alone()
        mine: Mark = [None]
        run_in(mine)
        after: Any
        wanted: Any
        sleep: Any
        k, waited, after, wanted, sleep = 0, 0.0, None, None, None
        try:  # twice, since Ctrl-C may come at the beginning of a `finally`
            try:
                last[0] = mine
                while True:
                    try:
                        mine[0] = waits
                        answer = function(*args, **kwargs) if kwargs else function(*args)  # faster
                        if answer.__class__ is not CoroutineType:
                            return answer
                        raise no_coroutine_function(function, answer)
                    except Exception as failure:
                        if after is None:
                            after, wanted, sleep = descent(), listener(), blocking()
                        seconds = after(failure)
                        if seconds is None:
                            raise
                        if wanted(INFO):
                            log(delay(seconds, top - k, failure))
                        mine[0] = None  # so that no instruction is outside of a `try` with it
                    sleep(seconds if seconds < LONGEST_SLEEP else LONGEST_SLEEP)
                    waited += seconds
                    k += 1
            except StopIteration as failure:  # as if a handler had raised it
                raise noted(stopped(failure), tries=k + 1, waits=k, waited=waited) from failure
            except Exception as failure:
                noted(failure, tries=k + 1, waits=k, waited=waited)
                raise
            finally:
                mine[0] = None
        finally:
            mine[0] = None

    begins(retried.__code__)
    return retried


def caller_async(backoff: Any, function: Any) -> Any:
    """As `caller`, for a coroutine function."""
    generic, top, descent = backoff._generic, backoff._top, backoff._descent
    swapped = [True] if generic else SWAPPED
    waits = backoff if top else None

    async def retried(*args: Any, **kwargs: Any) -> Any:
        if swapped and (generic or others() is not None):
            program = backoff._program(call_async(function, *args, **kwargs))
            return await program.run_async(interpreter_async(), **backoff._how())
        last = here.last
        if (running()[0] is not None or last[0][0] is not None) and top:
            check_alone()
        mine: Mark = [None]
        run_in(mine)
        after: Any
        wanted: Any
        sleep: Any
        k, waited, after, wanted, sleep = 0, 0.0, None, None, None
        try:  # twice, since Ctrl-C may come at the beginning of a `finally`
            try:
                last[1] = True
                while True:
                    try:
                        mine[0] = waits
                        answer = await (function(*args, **kwargs) if kwargs else function(*args))
                        return answer  # noqa: RET504, TRY300  in one line, it would leave the `try` early
                    except Exception as failure:
                        if after is None:
                            after, wanted, sleep = descent(), listener(), awaitable()
                        seconds = after(failure)
                        if seconds is None:
                            raise
                        if wanted(INFO):
                            log(delay(seconds, top - k, failure))
                        mine[0] = None  # so that no instruction is outside of a `try` with it
                    await sleep(seconds if seconds < LONGEST_SLEEP else LONGEST_SLEEP)
                    waited += seconds
                    k += 1
            except Exception as failure:
                noted(failure, tries=k + 1, waits=k, waited=waited)
                raise
            finally:
                mine[0] = None
        finally:
            mine[0] = None

    begins(retried.__code__)
    return retried
