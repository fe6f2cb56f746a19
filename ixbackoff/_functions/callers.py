"""Calls of a plain function, again while it fails: the two loops, sync and async.

They do the same as the program of such a call, many times as fast; a law compares them. With a
deadline, a budget or another interpreter they run that program instead; while somebody observes,
the loops of `watching` run.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CoroutineType
from typing import Any, TypeAlias

from .._limits.nesting import HERE, RUNNING, Mark, begins, check_alone, new_thread
from .._limits.observers import LOOK, SWAPPED
from .._meaning.descents import After
from .._running.logs import WARNING, default_logger, log_wait
from .._running.sleeping import LONGEST_SLEEP, awaitable, blocking
from .._words.calls import call, call_async
from .._words.commands import is_coroutine_function
from .answering import OTHERS, interpreter, interpreter_async
from .ends import ended, most_tries, name_of, stop_noted
from .functions import checked_function, no_coroutine_function
from .watching import watched, watched_async

UNASKED: float | None = 0.0
"""The seconds of a wait, before the first failure."""

running, run_in, here, others = RUNNING.get, RUNNING.set, HERE, OTHERS.get


Again: TypeAlias = tuple[After, Callable[[float], Any], Any]
"""What a call needs from its first failure on; a first try that is well pays for none of it.

The seconds after each failure, what sleeps, and the logger, for its level.
"""


def caller(backoff: Any, function: Any) -> Any:
    """Make a function that calls `function`, and again while it fails, as `backoff` says."""
    if is_coroutine_function(checked_function(function)):
        return caller_async(backoff, function)
    swapped = LOOK if backoff._generic else SWAPPED
    waits = backoff if backoff._top else None
    name = name_of(backoff, function)

    def retried(*args: Any, **kwargs: Any) -> Any:
        if swapped:
            for tell in swapped:  # another thread may have emptied it meanwhile
                if tell is not None:
                    return watched(tell, backoff, function, name, args, kwargs)
                if backoff._generic or others() is not None:
                    return by_program(backoff, call(function, *args, **kwargs))
        try:
            last = here.last
        except AttributeError:
            last = new_thread()
        if (running()[0] is not None or last[0][0] is not None or last[1]) and waits is not None:
            check_alone()
        mine: Mark = [None, 0]
        run_in(mine)
        again: Again | None = None
        k, waited, seconds = 0, 0.0, UNASKED
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
                        if again is None:
                            again = backoff._descent(), blocking(), default_logger()
                        after, sleep, logger = again
                        seconds = after(failure)
                        if seconds is None:
                            raise
                        if (logger.level or logger.parent.level) <= WARNING:
                            log_wait(name, k + 1, most_tries(backoff._top), failure, seconds)
                        mine[0] = None  # so that no instruction is outside of a `try` with it
                    sleep(seconds if seconds < LONGEST_SLEEP else LONGEST_SLEEP)
                    k += 1
                    mine[1] = k
                    waited += seconds
            except StopIteration as failure:  # as if a handler had raised it
                raise stop_noted(failure, backoff, name, k, waited, seconds is None) from failure
            except Exception as failure:
                ended(failure, backoff, name, k, waited, seconds is None)
                raise
            finally:
                mine[0] = None
        except BaseException:
            mine[0] = None
            raise

    begins(retried.__code__)
    return retried


def caller_async(backoff: Any, function: Any) -> Any:
    """As `caller`, for a coroutine function."""
    swapped = LOOK if backoff._generic else SWAPPED
    waits = backoff if backoff._top else None
    name = name_of(backoff, function)

    async def retried(*args: Any, **kwargs: Any) -> Any:
        if swapped:
            for tell in swapped:  # another thread may have emptied it meanwhile
                if tell is not None:
                    return await watched_async(tell, backoff, function, name, args, kwargs)
                if backoff._generic or others() is not None:
                    return await by_program_async(backoff, call_async(function, *args, **kwargs))
        try:
            last = here.last
        except AttributeError:
            last = new_thread()
        if (running()[0] is not None or last[0][0] is not None) and waits is not None:
            check_alone()
        mine: Mark = [None, 0]
        run_in(mine)
        again: Again | None = None
        k, waited, seconds = 0, 0.0, UNASKED
        try:  # twice, since Ctrl-C may come at the beginning of a `finally`
            try:
                last[1] = True
                while True:
                    try:
                        mine[0] = waits
                        answer = await (function(*args, **kwargs) if kwargs else function(*args))
                        return answer  # noqa: RET504, TRY300  in one line, it would leave the `try` early
                    except Exception as failure:
                        if again is None:
                            again = backoff._descent(), awaitable(), default_logger()
                        after, sleep, logger = again
                        seconds = after(failure)
                        if seconds is None:
                            raise
                        if (logger.level or logger.parent.level) <= WARNING:
                            log_wait(name, k + 1, most_tries(backoff._top), failure, seconds)
                        mine[0] = None  # so that no instruction is outside of a `try` with it
                    await sleep(seconds if seconds < LONGEST_SLEEP else LONGEST_SLEEP)
                    k += 1
                    mine[1] = k
                    waited += seconds
            except Exception as failure:
                ended(failure, backoff, name, k, waited, seconds is None)
                raise
            finally:
                mine[0] = None
        except BaseException:
            mine[0] = None
            raise

    begins(retried.__code__)
    return retried


def by_program(backoff: Any, command: Any) -> Any:
    """Run the program of a call."""
    return backoff._program(command).run(interpreter(), **backoff._how())


def by_program_async(backoff: Any, command: Any) -> Any:
    """As `by_program`, for a coroutine function."""
    return backoff._program(command).run_async(interpreter_async(), **backoff._how())
