"""Calls of a plain function while somebody observes: the loops of `callers`, and what they tell.

A law says that observers are told the same as of the program of such a call.
"""

from __future__ import annotations

from types import CoroutineType
from typing import Any

from .._limits.nesting import HERE, RUNNING, Mark, begins, check_alone, new_thread
from .._limits.observers import (
    Answered,
    Began,
    Ended,
    Issued,
    Run,
    Tell,
    Waits,
    clock,
    made,
    reason_of,
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

    _name: str
    tries = 1
    after: After | None = None

    @property
    def name(self) -> str:
        return self._name


new: Any = object.__new__
running, run_in, here = RUNNING.get, RUNNING.set, HERE


def watched(
    tell: Tell, backoff: Any, function: Any, name: str, args: Any, kwargs: dict[str, Any]
) -> Any:
    """Call `function`, and again while it fails, and tell observers of it."""
    run, command = Called(), new(Call)
    run._name = name
    command.function, command.arguments = function, args
    command.keywords = tuple(kwargs.items()) if kwargs else ()
    issued: Issued | None = made(Issued, (run, command))
    mine: Mark = [None, 0]
    seconds: float | None = 0.0
    failure: BaseException | None = None
    left = False  # true while the end has to be told
    begun = tried = clock()
    try:  # twice, since Ctrl-C may come at the beginning of a `finally`
        try:
            try:
                last = here.last
            except AttributeError:
                last = new_thread()
            if backoff._top and (running()[0] is not None or last[0][0] is not None or last[1]):
                check_alone()
            run_in(mine)
            last[0] = mine
            left = True
            tell(made(Began, (run,)), issued)
            while True:
                try:
                    mine[0] = backoff if backoff._top else None
                    answer = function(*args, **kwargs) if kwargs else function(*args)
                    if answer.__class__ is CoroutineType:
                        raise no_coroutine_function(function, answer)
                    now = clock()
                    left = False
                    tell(
                        made(Answered, (run, issued, now - tried, None)),
                        made(Ended, (run, "well", now - begun, None)),
                    )
                    return answer  # noqa: TRY300  in one line, it would be told of too early
                except Exception as error:
                    failure = stopped(error) if isinstance(error, StopIteration) else error
                    mine[0] = None  # so that no instruction is outside of a `try` with it
                asked, issued = issued, None
                seconds = failed_try(run, tell, asked, tried, failure, backoff)
                if seconds is None:
                    raise failure
                failure = None
                blocking()(min(seconds, LONGEST_SLEEP))
                issued, tried = next_try(run, command, seconds, mine), clock()
                tell(issued)
        except BaseException as error:
            failure = error
            raise
        finally:
            mine[0] = None
            if left:
                left = False
                end(run, tell, issued, tried, begun, failure, backoff, seconds is None)
    finally:
        mine[0] = None
        if left:
            end(run, tell, issued, tried, begun, failure, backoff, seconds is None)
        failure = None


async def watched_async(
    tell: Tell, backoff: Any, function: Any, name: str, args: Any, kwargs: dict[str, Any]
) -> Any:
    """As `watched`, for a coroutine function."""
    run, command = Called(), new(CallAsync)
    run._name = name
    command.function, command.arguments = function, args
    command.keywords = tuple(kwargs.items()) if kwargs else ()
    issued: Issued | None = made(Issued, (run, command))
    mine: Mark = [None, 0]
    seconds: float | None = 0.0
    failure: BaseException | None = None
    left = False  # true while the end has to be told
    begun = tried = clock()
    try:  # twice, since Ctrl-C may come at the beginning of a `finally`
        try:
            try:
                last = here.last
            except AttributeError:
                last = new_thread()
            if backoff._top and (running()[0] is not None or last[0][0] is not None):
                check_alone()
            run_in(mine)
            last[1] = True
            left = True
            tell(made(Began, (run,)), issued)
            while True:
                try:
                    mine[0] = backoff if backoff._top else None
                    answer = await (function(*args, **kwargs) if kwargs else function(*args))
                    now = clock()
                    left = False
                    tell(
                        made(Answered, (run, issued, now - tried, None)),
                        made(Ended, (run, "well", now - begun, None)),
                    )
                    return answer  # noqa: TRY300  in one line, it would be told of too early
                except Exception as error:
                    failure = error
                    mine[0] = None  # so that no instruction is outside of a `try` with it
                asked, issued = issued, None
                seconds = failed_try(run, tell, asked, tried, failure, backoff)
                if seconds is None:
                    raise failure
                failure = None
                await awaitable()(min(seconds, LONGEST_SLEEP))
                issued, tried = next_try(run, command, seconds, mine), clock()
                tell(issued)
        except BaseException as error:
            failure = error
            raise
        finally:
            mine[0] = None
            if left:
                left = False
                end(run, tell, issued, tried, begun, failure, backoff, seconds is None)
    finally:
        mine[0] = None
        if left:
            end(run, tell, issued, tried, begun, failure, backoff, seconds is None)
        failure = None


begins(watched.__code__)
begins(watched_async.__code__)


def failed_try(
    run: Called, tell: Tell, issued: Issued | None, tried: float, failure: Exception, backoff: Any
) -> float | None:
    """Tell of a try that has failed, and tell and log the wait after it, if there is one.

    Return its seconds.
    """
    top: int = backoff._top
    try:
        tell(made(Answered, (run, issued, clock() - tried, failure)))
        after: After = run.after or backoff._descent()
        run.after = after
        seconds = after(failure)
        if seconds is not None:
            tell(made(Waits, (run, seconds, number_after(top, run.waits), failure)))
            log_wait(run.name, run.waits + 1, most_tries(top), failure, seconds)
        return seconds
    finally:  # an exception must not be kept alive by a frame in its own traceback
        del failure


def next_try(run: Called, command: Any, seconds: float, mine: Mark) -> Issued:
    """Count a wait that is over, and begin the try after it."""
    run.waits += 1
    run.waited += seconds
    run.tries += 1
    mine[1] = run.waits
    return Issued(run, command)


def end(
    run: Called,
    tell: Tell,
    issued: Issued | None,
    tried: float,
    begun: float,
    failure: BaseException | None,
    backoff: Any,
    no_wait: bool,
) -> None:
    """Note, log and tell that a call has ended, and first that its try has, if it was not told."""
    now = clock()
    try:
        if isinstance(failure, Exception):
            run.reason = ended(failure, backoff, run.name, run.waits, run.waited, no_wait)
        last = made(Ended, (run, reason_of(run, failure), now - begun, failure))
        if issued is None:
            tell(last)
        else:
            tell(made(Answered, (run, issued, now - tried, failure)), last)
    finally:
        last = None
        del failure
