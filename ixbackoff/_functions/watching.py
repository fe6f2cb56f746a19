"""Calls of a plain function while somebody observes: the loops of `callers`, and what they tell.

A law says that observers are told the same as of the program of such a call.
"""

from __future__ import annotations

from types import CoroutineType
from typing import Any, TypeAlias

from .._limits.nesting import (
    REFUSED,
    RUNNING,
    Mark,
    begins,
    check_not_refused,
)
from .._limits.observers import (
    Answered,
    Began,
    Ended,
    Issued,
    Observer,
    Run,
    Telling,
    Waits,
    clock,
    made,
    reason_of,
    tell,
    tell_on,
    tell_rest,
)
from .._meaning.descents import After
from .._meaning.runs import number_after
from .._running.logs import log_wait
from .._running.sleeping import LONGEST_SLEEP, awaitable, blocking
from .._words.calls import Call, CallAsync, Calling
from .._words.commands import stopped
from .called import Called
from .ends import ended
from .functions import no_coroutine_function


class Watched(Run):
    """One call that observers are told of."""

    called: Called
    tries = 1
    shortest = 0.0
    after: After | None = None

    @property
    def name(self) -> str:
        return self.called.name


Beginning: TypeAlias = tuple[Watched, Any, Issued | None, Telling]
"""A call that begins: its run, its command, the event that it is issued, and the first events."""

new: Any = object.__new__
run_in = RUNNING.set


def beginning(
    observer: Observer,
    called: Called,
    kind: type[Calling[Any]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Beginning:
    """Begin a call that an observer is told of."""
    run, command = Watched(), new(kind)
    run.called = called
    command.function, command.arguments = called.function, args
    command.keywords = tuple(kwargs.items()) if kwargs else ()
    issued = made(Issued, (run, command))
    return run, command, issued, map(observer, (made(Began, (run,)), issued))


def watched(
    observer: Observer,
    called: Called,
    last: list[Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Call a function, and again while it fails, and tell observers of it."""
    run, command, issued, began = beginning(observer, called, Call, args, kwargs)
    over: Telling | None = None
    left = last[2] = True  # until all of that is told
    mine: Mark = [None, 0]
    seconds: float | None = 0.0
    failure: BaseException | None = None
    begun = tried = clock()
    try:  # twice, since Ctrl-C may come at the beginning of a `finally`
        try:
            run_in(mine)
            last[0] = mine
            try:
                _, _ = began
            except Exception as error:
                tell_on(observer, began, error)
            last[2] = False
            while True:
                try:
                    mine[0] = called if called.top else None
                    answer = called.attempt(*args, **kwargs) if kwargs else called.attempt(*args)
                    if answer.__class__ is CoroutineType:
                        raise no_coroutine_function(called.function, answer)
                    if REFUSED:
                        check_not_refused(mine)
                except Exception as error:
                    failure = stopped(error) if isinstance(error, StopIteration) else error
                    mine[0] = None  # so that no instruction is outside of a `try` with it
                else:
                    over = well(run, observer, issued, tried, begun)
                    last[2] = True
                    try:
                        _, _ = over
                    except Exception as error:
                        tell_on(observer, over, error)
                    left = last[2] = False
                    return answer
                asked, issued = issued, None
                seconds = failed_try(run, observer, asked, tried, failure)
                if seconds is None:
                    raise failure
                failure = None
                blocking()(min(seconds, LONGEST_SLEEP))
                issued, tried = next_try(run, command, seconds, mine), clock()
                tell(observer, issued)
        except BaseException as error:
            failure = error
            raise
        finally:
            mine[0] = None
            last[2] = False
            if left:
                over = finish(run, observer, began, over, issued, tried, begun, failure, seconds)
                left = False
    finally:
        mine[0] = None
        last[2] = False
        if left:
            finish(run, observer, began, over, issued, tried, begun, failure, seconds)
        failure = over = None


async def watched_async(
    observer: Observer,
    called: Called,
    last: list[Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """As `watched`, for a coroutine function."""
    run, command, issued, began = beginning(observer, called, CallAsync, args, kwargs)
    over: Telling | None = None
    left = last[2] = True  # until all of that is told
    mine: Mark = [None, 0]
    seconds: float | None = 0.0
    failure: BaseException | None = None
    begun = tried = clock()
    try:  # twice, since Ctrl-C may come at the beginning of a `finally`
        try:
            run_in(mine)
            last[1] = True
            try:
                _, _ = began
            except Exception as error:
                tell_on(observer, began, error)
            last[2] = False
            while True:
                try:
                    mine[0] = called if called.top else None
                    answer = await called.attempt(*args, **kwargs)
                    if REFUSED:
                        check_not_refused(mine)
                except Exception as error:
                    failure = error
                    mine[0] = None  # so that no instruction is outside of a `try` with it
                else:
                    over = well(run, observer, issued, tried, begun)
                    last[2] = True
                    try:
                        _, _ = over
                    except Exception as error:
                        tell_on(observer, over, error)
                    left = last[2] = False
                    return answer
                asked, issued = issued, None
                seconds = failed_try(run, observer, asked, tried, failure)
                if seconds is None:
                    raise failure
                failure = None
                await awaitable()(min(seconds, LONGEST_SLEEP))
                issued, tried = next_try(run, command, seconds, mine), clock()
                tell(observer, issued)
        except BaseException as error:
            failure = error
            raise
        finally:
            mine[0] = None
            last[2] = False
            if left:
                over = finish(run, observer, began, over, issued, tried, begun, failure, seconds)
                left = False
    finally:
        mine[0] = None
        last[2] = False
        if left:
            finish(run, observer, began, over, issued, tried, begun, failure, seconds)
        failure = over = None


begins(watched.__code__)
begins(watched_async.__code__)


def failed_try(
    run: Watched, observer: Observer, issued: Issued | None, tried: float, failure: Exception
) -> float | None:
    """Tell of a try that has failed, and tell and log the wait after it, if there is one.

    Return its seconds.
    """
    called = run.called
    try:
        tell(observer, made(Answered, (run, issued, clock() - tried, failure)))
        if REFUSED:
            check_not_refused(RUNNING.get(), failure)
        after: After = run.after or called.descent()
        run.after = after
        seconds = after(failure, run.waits, run.shortest)
        if seconds is not None:
            run.shortest = seconds
            tell(
                observer, made(Waits, (run, seconds, number_after(called.top, run.waits), failure))
            )
            log_wait(called.name, run.waits + 1, called.tries, failure, seconds)
        return seconds
    finally:  # an exception must not be kept alive by a frame in its own traceback
        del failure


def next_try(run: Watched, command: Any, seconds: float, mine: Mark) -> Issued:
    """Count a wait that is over, and begin the try after it."""
    run.waits += 1
    run.waited += seconds
    run.tries += 1
    mine[1] = run.waits
    return Issued(run, command)


def end(
    run: Watched,
    observer: Observer,
    issued: Issued | None,
    tried: float,
    begun: float,
    failure: BaseException | None,
    seconds: float | None,
) -> Telling:
    """Note and log that a call has ended, and begin to tell it; its try too, if it was not told."""
    now = clock()
    try:
        if isinstance(failure, Exception):
            run.reason = ended(failure, run.called, run.waits, run.waited, seconds is None)
        last = made(Ended, (run, reason_of(run, failure), now - begun, failure))
        if issued is None:
            return map(observer, (last,))
        return map(observer, (made(Answered, (run, issued, now - tried, failure)), last))
    finally:
        last = None
        del failure


def well(
    run: Watched, observer: Observer, issued: Issued | None, tried: float, begun: float
) -> Telling:
    """Begin to tell that a call has ended well."""
    now = clock()
    answered = made(Answered, (run, issued, now - tried, None))
    return map(observer, (answered, made(Ended, (run, "well", now - begun, None))))


def finish(
    run: Watched,
    observer: Observer,
    began: Telling,
    over: Telling | None,
    issued: Issued | None,
    tried: float,
    begun: float,
    failure: BaseException | None,
    seconds: float | None,
) -> Telling:
    """Tell what is left of a call that did not end well, whenever it was interrupted."""
    try:
        tell_rest(observer, began)
        over = over or end(run, observer, issued, tried, begun, failure, seconds)
        tell_rest(observer, over)
        return over
    finally:
        del failure
