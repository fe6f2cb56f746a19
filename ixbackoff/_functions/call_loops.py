"""The loop that repeats a call of a decorated function while it fails, in a sync and async form.

The loop does the same as the program of a call (`Backoff.program`), many times as fast; a test
compares the two. A call runs its program instead if it has a time limit, a budget, a stop, a gate
or an interpreter of a test, if a run or request around it allows one try, or if the nearest time
limit around it is that of a request.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CoroutineType
from typing import Any

from .._limits.deadlines import LEFT, in_time_around
from .._limits.event_loop import cancelled_since
from .._limits.nesting import (
    HERE,
    REJECTED,
    RUNNING,
    SERVED,
    Mark,
    ThreadState,
    carries_mark,
    check_alone,
    check_not_rejected,
    new_thread,
)
from .._limits.observers import LOOK, SWAPPED, Observer
from .._running.logs import WARNING, log_wait
from .._running.sleeping import (
    BLOCKING,
    LONGEST_SLEEP,
    SWITCHES,
    asyncio_sleep,
    awaitable,
    blocking_sleep,
    short_sleep,
)
from .._words.commands import is_coroutine_function, raisable
from .._words.logger import default_logger
from ..schedules.base import After
from .called_function import Called, checked_function
from .default_interpreters import OTHERS
from .failed_calls import ended
from .nested_once import by_program, by_program_async, hurry, once_in_request
from .observed_calls import Watched
from .settings import no_coroutine_function

__tracebackhide__ = True

current_mark, set_mark, here = RUNNING.get, RUNNING.set, HERE


def caller(backoff: Any, function: Any) -> Any:
    """Return `function` with retries: a call is repeated while it fails and `backoff` allows it."""
    called = Called(backoff, checked_function(function))
    swapped = LOOK if backoff._generic else SWAPPED
    if is_coroutine_function(function):
        return caller_async(called, swapped)
    return caller_sync(called, swapped)


# The two loops differ in `await`, in the mark of the thread, in cancellation, and in the check
# of a plain function, which may return a coroutine by mistake. Their state is in local variables:
# with an object, a retry takes a fifth longer. What only a retry needs is made at a failure.
#
# A call at N0 sets no mark, because its mark would hide the run around it. Any other call marks the
# context. It does so again before a retry if the mark has been replaced meanwhile, by a run
# in an observer, in a signal handler or in a task with the same context.


def caller_sync(called: Called, swapped: list[Observer | None]) -> Any:
    marked, attempt, descent = called if called.top else None, called.attempt, called.descent

    @carries_mark
    def retried(*args: Any, **kwargs: Any) -> Any:
        try:
            thread = here.state
        except AttributeError:
            thread = new_thread()
        watched: Watched | None = None
        if swapped or current_mark()[0] is not None or thread.mark[0] is not None or thread.awaits:
            outer, watched = around(called, swapped, thread, args, kwargs)
            if outer is not None:
                return by_program(called, args, kwargs, outer)
        again: Any = None
        seconds: Any = 0.0  # `None` if the last failure is not tried again
        mine: Mark = [None, 0]
        k, waited = 0, 0.0
        try:
            if watched is not None:
                watched.begin()
            if marked is not None:
                set_mark(mine)
                thread.mark = mine
            while True:
                try:
                    mine[0] = marked
                    answer = attempt(*args, **kwargs) if kwargs else attempt(*args)
                    if REJECTED or answer.__class__ is CoroutineType:
                        check_answer(called, answer, mine)
                    mine[0] = None
                    if watched is not None:
                        watched.succeed()
                    return answer  # noqa: TRY300
                except Exception as failure:
                    if REJECTED or watched is not None:
                        failed(failure, mine, watched)
                    if again is None:
                        again = in_thread(descent)
                    after, sleep, log = again
                    if (seconds := after(failure, k, seconds)) is None:
                        raise
                    if watched is not None or (log.level or log.parent.level) <= WARNING:
                        report_wait(seconds, failure, called, k, watched)
                    mine[0] = None
                (blocking_sleep if SWITCHES or seconds >= BLOCKING else sleep)(seconds)
                mine[1] = k = k + 1
                waited += seconds
                if watched is not None or thread.mark is not mine:
                    thread.mark = begin_retry(mine, watched, k, waited)
        except BaseException as failure:
            mine[0] = None
            try:  # `ended` closes `watched`, too: see `interrupt_safety`
                ended(failure, called, k, waited, seconds is None, watched)
            finally:
                if watched is not None:
                    watched.close(failure)
            raise

    return retried


def begin_retry(mine: Mark, watched: Watched | None, k: int, waited: float) -> Mark:
    if watched is not None:
        watched.retry(k, waited)
    set_mark(mine)
    return mine


def caller_async(called: Called, swapped: list[Observer | None]) -> Any:
    marked, attempt, descent = called if called.top else None, called.attempt, called.descent

    @carries_mark
    async def retried(*args: Any, **kwargs: Any) -> Any:
        try:
            thread = here.state
        except AttributeError:
            thread = new_thread()
        watched: Watched | None = None
        if swapped or current_mark()[0] is not None or thread.mark[0] is not None:
            outer, watched = around(called, swapped, thread, args, kwargs, sync=False)
            if outer is not None:
                return await by_program_async(called, args, kwargs, outer)
        again: Any = None
        seconds: Any = 0.0  # `None` if the last failure is not tried again
        mine: Mark = [None, 0]
        k, waited = 0, 0.0
        try:
            if watched is not None:
                watched.begin()
            if marked is not None:
                set_mark(mine)
                thread.awaits = True
            while True:
                try:
                    mine[0] = marked
                    answer = await (attempt(*args, **kwargs) if kwargs else attempt(*args))
                    if REJECTED:
                        check_not_rejected(mine)
                    mine[0] = None
                    if watched is not None:
                        watched.succeed()
                    return answer  # noqa: TRY300
                except Exception as failure:
                    if REJECTED or watched is not None:
                        failed(failure, mine, watched)
                    if again is None:
                        again = in_task(descent, failure)
                    after, sleep, log, cancelled = again
                    if (seconds := after(failure, k, seconds)) is None or cancelled():
                        raise
                    if watched is not None or (log.level or log.parent.level) <= WARNING:
                        report_wait(seconds, failure, called, k, watched)
                    mine[0] = None
                pause = awaitable() if SWITCHES else sleep
                await pause(seconds if seconds < LONGEST_SLEEP else LONGEST_SLEEP)
                mine[1] = k = k + 1
                waited += seconds
                if watched is not None or current_mark() is not mine:
                    begin_retry(mine, watched, k, waited)
        except BaseException as failure:
            mine[0] = None
            try:  # `ended` closes `watched`, too: see `interrupt_safety`
                ended(failure, called, k, waited, seconds is None, watched, again and again[3]())
            finally:
                if watched is not None:
                    watched.close(failure)
            raise

    return retried


def in_thread(descent: Callable[[], After]) -> tuple[After, Any, Any]:
    """Return the waits, the sleep and the logger of a call, which needs them once it has failed."""
    after = descent() if LEFT.get() is None else in_time_around(descent())
    return after, short_sleep(), default_logger()


def in_task(descent: Callable[[], After], failure: Exception) -> tuple[After, Any, Any, Any]:
    after = descent() if LEFT.get() is None else in_time_around(descent())
    cancelled = cancelled_since(failure)  # the function `int` outside of asyncio tasks
    sleep = awaitable() if cancelled is int or SWITCHES else asyncio_sleep()
    return after, sleep, default_logger(), cancelled


def check_answer(called: Called, answer: Any, mine: Mark) -> None:
    if answer.__class__ is CoroutineType:
        raise no_coroutine_function(called.function, answer)
    check_not_rejected(mine)


def failed(failure: Exception, mine: Mark, watched: Watched | None) -> None:
    if watched is not None:
        watched.fail(failure)
    check_not_rejected(mine, failure)


def report_wait(
    seconds: float, failure: Exception, called: Called, k: int, watched: Watched | None
) -> None:
    raised = raisable(failure)
    if watched is not None:
        watched.wait(seconds, raised)
    log_wait(called.name, k + 1, called.tries, raised, seconds)


def around(
    called: Called,
    swapped: list[Observer | None],
    thread: ThreadState,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    sync: bool = True,
) -> tuple[object, Watched | None]:
    """Return `outer` or `None`, and the `Watched` of an observed call or `None`.

    A call with an `outer` runs by its program, and not by the loop. `outer` is the run or request
    that limits the call to one try, or `called` if another reason requires the program.
    """
    if called.top and (
        current_mark()[0] is not None or thread.mark[0] is not None or (sync and thread.awaits)
    ):
        outer = check_alone(called, once=True)
        if outer is not None:
            return outer, None
    if SERVED.get() is not None:
        outer = once_in_request(called)
        if outer is not None or hurry(called.backoff) is not None:
            return outer or called, None
    for observer in swapped:  # no index, because another thread may have emptied the list
        if observer is not None and not thread.notifying:
            return None, Watched(called, observer, args, kwargs)
        if called.backoff._generic or OTHERS.get() is not None:
            return called, None
    return None, None
