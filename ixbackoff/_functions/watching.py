"""Calls of a plain function while somebody observes: the loops of `callers`, and what they tell.

A law says that observers are told the same as of the program of such a call.
"""

from __future__ import annotations

from types import CoroutineType
from typing import Any

from .._limits.nesting import Mark, begin, begins
from .._limits.observers import (
    Answered,
    Event,
    Issued,
    Observers,
    Run,
    Telling,
    Waits,
    clock,
    made,
    tell,
)
from .._meaning.descents import After
from .._meaning.runs import number_after
from .._running.logs import log_wait
from .._running.sleeping import LONGEST_SLEEP, awaitable, blocking
from .._words.calls import Call, CallAsync
from .._words.commands import stopped
from .ends import ended, most_tries
from .functions import no_coroutine_function


class Called(Run):
    """One call that observers are told of."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def name(self) -> str:
        return self._name


def watched(
    backoff: Any, function: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call `function`, and again while it fails, and tell the observers that are there now."""
    run = Called(name)
    telling = Telling(run)
    observers = telling.observers
    command: Call[Any] = Call(function, args, tuple(kwargs.items()) if kwargs else ())
    mine: Mark = [None, 0]
    after: After | None = None
    seconds: float | None = 0.0
    failure: BaseException | None = None
    try:  # twice, since Ctrl-C may come at the beginning of a `finally`
        try:
            if backoff._top:
                begin(mine, backoff)
            telling.began()
            while True:
                issued = next_try(run, command)
                failure = None
                begun = clock()
                try:
                    tell(observers, issued)
                    answer = function(*args, **kwargs)
                    if answer.__class__ is CoroutineType:
                        raise no_coroutine_function(function, answer)
                    return answer
                except Exception as error:
                    failure = stopped(error) if isinstance(error, StopIteration) else error
                except BaseException as error:
                    failure = error
                    raise
                finally:
                    tell(observers, made(Answered, (run, issued, clock() - begun, failure)))
                after = after or backoff._descent()
                seconds = wait(run, observers, after, failure, backoff._top)
                if seconds is None:
                    raise failure
                failure = None
                blocking()(min(seconds, LONGEST_SLEEP))
                waited(run, seconds, mine)
        except BaseException as error:
            failure = error
            end(run, backoff, failure, seconds is None)
            raise
        finally:
            mine[0] = None
            telling.ended(failure)
    finally:
        mine[0] = None
        telling.ended(failure)
        failure = issued = None


async def watched_async(
    backoff: Any, function: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """As `watched`, for a coroutine function."""
    run = Called(name)
    telling = Telling(run)
    observers = telling.observers
    command: CallAsync[Any] = CallAsync(function, args, tuple(kwargs.items()) if kwargs else ())
    mine: Mark = [None, 0]
    after: After | None = None
    seconds: float | None = 0.0
    failure: BaseException | None = None
    try:  # twice, since Ctrl-C may come at the beginning of a `finally`
        try:
            if backoff._top:
                begin(mine, backoff, awaits=True)
            telling.began()
            while True:
                issued = next_try(run, command)
                failure = None
                begun = clock()
                try:
                    tell(observers, issued)
                    answer = await function(*args, **kwargs)
                    return answer  # noqa: RET504, TRY300  in one line, it would leave the `try` early
                except Exception as error:
                    failure = error
                except BaseException as error:
                    failure = error
                    raise
                finally:
                    tell(observers, made(Answered, (run, issued, clock() - begun, failure)))
                after = after or backoff._descent()
                seconds = wait(run, observers, after, failure, backoff._top)
                if seconds is None:
                    raise failure
                failure = None
                await awaitable()(min(seconds, LONGEST_SLEEP))
                waited(run, seconds, mine)
        except BaseException as error:
            failure = error
            end(run, backoff, failure, seconds is None)
            raise
        finally:
            mine[0] = None
            telling.ended(failure)
    finally:
        mine[0] = None
        telling.ended(failure)
        failure = issued = None


begins(watched.__code__)
begins(watched_async.__code__)


def next_try(run: Run, command: Any) -> Issued:
    """Begin a try."""
    run.tries += 1
    return made(Issued, (run, command))


def wait(
    run: Run, observers: Observers, after: After, failure: Exception, top: int
) -> float | None:
    """Tell and log the wait after a failure, and return its seconds; `None` if there is none."""
    seconds = after(failure)
    if seconds is not None:
        event: Event = Waits(run, seconds, number_after(top, run.waits), failure)
        try:
            tell(observers, event)
            log_wait(run.name, run.waits + 1, most_tries(top), failure, seconds)
        finally:  # an exception must not be kept alive by a frame in its own traceback
            del event, failure
    return seconds


def waited(run: Run, seconds: float, mine: Mark) -> None:
    """Count a wait that is over."""
    run.waits += 1
    run.waited += seconds
    mine[1] = run.waits


def end(run: Run, backoff: Any, failure: BaseException, no_wait: bool) -> None:
    """Note and log what was done, and why the call ends."""
    try:
        if isinstance(failure, Exception) and run.tries:
            run.reason = ended(failure, backoff, run.name, run.waits, run.waited, no_wait)
    finally:
        del failure
