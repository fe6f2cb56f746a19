"""Calls of a plain function, again while it fails: the two loops, sync and async.

They do the same as the program of such a call, many times as fast; a law compares them. With a
deadline, a budget or another interpreter they run that program instead; while somebody observes,
the loops of `watching` run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import CoroutineType
from typing import Any, TypeAlias

from .._limits.nesting import (
    HERE,
    REFUSED,
    RUNNING,
    Mark,
    begins,
    check_alone,
    check_not_refused,
    new_thread,
)
from .._limits.observers import LOOK, SWAPPED, Observer
from .._meaning.descents import After
from .._running.logs import WARNING, default_logger, log_wait
from .._running.sleeping import LONGEST_SLEEP, SWITCHES, awaitable, blocking
from .._words.calls import call, call_async
from .._words.commands import is_coroutine_function
from .answering import OTHERS, interpreter, interpreter_async
from .called import Called
from .ends import ended, stop_noted
from .functions import check_sync, checked_function, no_coroutine_function
from .nested import tried_once, tried_once_async

__tracebackhide__ = True

running, run_in, here, others = RUNNING.get, RUNNING.set, HERE, OTHERS.get


PROGRAM: Observer = bool
"""What stands for the program of a call, where the calls of functions look who observes."""

Again: TypeAlias = tuple[After, Callable[[float], Any], Any]
"""What a call needs from its first failure on; a first try that is well pays for none of it.

The seconds after each failure, what sleeps, and the logger, for its level.
"""


def caller(backoff: Any, function: Any) -> Any:
    """Make a function that calls `function`, and again while it fails, as `backoff` says."""
    called = Called(backoff, checked_function(function))
    if is_coroutine_function(function):
        check_sync(called.name, backoff._settings.stop)
        retried = caller_async(called)
    else:
        retried = caller_sync(called)
    begins(retried.__code__)
    return retried


def at_hand(called: Called) -> tuple[Any, Called | None, Any, Callable[[], After]]:
    """Return what each call looks at: who else calls, its mark, the function, the retries."""
    swapped = LOOK if called.backoff._generic else SWAPPED
    return swapped, called if called.top else None, called.attempt, called.descent


def caller_sync(called: Called) -> Any:
    """As `caller`, for a plain function."""
    swapped, waits, attempt, descent = at_hand(called)

    def retried(*args: Any, **kwargs: Any) -> Any:
        try:
            last = here.last
        except AttributeError:
            last = new_thread()
        if (running()[0] is not None or last[0][0] is not None or last[1]) and waits is not None:
            outer = check_alone(waits, once=True)
            if outer is not None:
                return tried_once(called, args, kwargs, outer)
        if swapped and (way := another_way(swapped, called, last)) is not None:
            return (by_program if way is PROGRAM else watched()[0])(way, called, last, args, kwargs)
        mine: Mark = [None, 0]
        run_in(mine)
        again: Again | None = None
        k = 0
        waited = 0.0
        seconds: Any = 0.0  # `None` if the last failure is not tried again
        try:  # twice, since Ctrl-C may come at the beginning of a `finally`
            try:
                last[0] = mine
                while True:
                    try:
                        mine[0] = waits
                        answer = attempt(*args, **kwargs) if kwargs else attempt(*args)
                        if answer.__class__ is not CoroutineType:
                            if REFUSED:
                                check_not_refused(mine)
                            return answer
                        raise no_coroutine_function(called.function, answer)
                    except Exception as failure:
                        if REFUSED:
                            check_not_refused(mine, failure)
                        if again is None:
                            again = descent(), blocking(), default_logger()
                        after, sleep, logger = again
                        seconds = after(failure, k, seconds)
                        if seconds is None:
                            raise
                        if (logger.level or logger.parent.level) <= WARNING:
                            log_wait(called.name, k + 1, called.tries, failure, seconds)
                        mine[0] = None  # so that no instruction is outside of a `try` with it
                    sleep = blocking() if SWITCHES else sleep
                    sleep(seconds if seconds < LONGEST_SLEEP else LONGEST_SLEEP)
                    k += 1
                    mine[1] = k
                    waited += seconds
            except StopIteration as failure:  # as if a handler had raised it
                raise stop_noted(failure, called, k, waited, seconds is None) from failure
            except Exception as failure:
                ended(failure, called, k, waited, seconds is None)
                raise
            finally:
                mine[0] = None
        except BaseException:
            mine[0] = None
            raise

    return retried


def caller_async(called: Called) -> Any:
    """As `caller`, for a coroutine function."""
    swapped, waits, attempt, descent = at_hand(called)

    async def retried(*args: Any, **kwargs: Any) -> Any:
        try:
            last = here.last
        except AttributeError:
            last = new_thread()
        if (running()[0] is not None or last[0][0] is not None) and waits is not None:
            outer = check_alone(waits, once=True)
            if outer is not None:
                return await tried_once_async(called, args, kwargs, outer)
        if swapped and (way := another_way(swapped, called, last)) is not None:
            twin = by_program_async if way is PROGRAM else watched()[1]
            return await twin(way, called, last, args, kwargs)
        mine: Mark = [None, 0]
        run_in(mine)
        again: Again | None = None
        k = 0
        waited = 0.0
        seconds: Any = 0.0  # `None` if the last failure is not tried again
        try:  # twice, since Ctrl-C may come at the beginning of a `finally`
            try:
                last[1] = True
                while True:
                    try:
                        mine[0] = waits
                        answer = await (attempt(*args, **kwargs) if kwargs else attempt(*args))
                        if REFUSED:
                            check_not_refused(mine)
                        return answer  # noqa: TRY300  in one line, it would leave the `try` early
                    except Exception as failure:
                        if REFUSED:
                            check_not_refused(mine, failure)
                        if again is None:
                            again = descent(), awaitable(), default_logger()
                        after, sleep, logger = again
                        seconds = after(failure, k, seconds)
                        if seconds is None:
                            raise
                        if (logger.level or logger.parent.level) <= WARNING:
                            log_wait(called.name, k + 1, called.tries, failure, seconds)
                        mine[0] = None  # so that no instruction is outside of a `try` with it
                    sleep = awaitable() if SWITCHES else sleep
                    await sleep(seconds if seconds < LONGEST_SLEEP else LONGEST_SLEEP)
                    k += 1
                    mine[1] = k
                    waited += seconds
            except Exception as failure:
                ended(failure, called, k, waited, seconds is None)
                raise
            finally:
                mine[0] = None
        except BaseException:
            mine[0] = None
            raise

    return retried


def another_way(swapped: list[Observer | None], called: Called, last: list[Any]) -> Observer | None:
    """Return who observes, `PROGRAM` if the program of the call is to be run, else `None`."""
    for observer in swapped:  # another thread may have emptied it meanwhile
        if observer is not None and not last[2]:
            return observer
        if called.backoff._generic or others() is not None:
            return PROGRAM
    return None


@cache
def watched() -> tuple[Any, Any]:
    """Return the loops that tell observers, sync and async: imported when there is an observer."""
    from .watching import watched, watched_async

    return watched, watched_async


def by_program(
    _: Observer, called: Called, __: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Run the program of a call."""
    command = call(called.function, *args, **kwargs)
    return called.backoff._program(command).run(interpreter())


def by_program_async(
    _: Observer, called: Called, __: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """As `by_program`, for a coroutine function."""
    command = call_async(called.function, *args, **kwargs)
    return called.backoff._program(command).run_async(interpreter_async())
