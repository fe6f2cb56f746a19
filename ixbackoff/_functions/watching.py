"""Calls of a plain function while somebody observes: the loops of `callers`, and what they tell.

A law says that observers are told the same as of the program of such a call.

`Watched.told` is set right before an observer is called, with no instruction between at which
Python looks for signals. So it is right whenever Ctrl-C comes.
"""

from __future__ import annotations

from sys import exception
from types import CoroutineType
from typing import Any

from .._limits.events import Answered, Began, Ended, Event, Issued, Run, WaitBegan
from .._limits.nesting import (
    REFUSED,
    RUNNING,
    Mark,
    begins,
    check_not_refused,
)
from .._limits.observers import (
    REGISTER,
    Observer,
    clock,
    reason_of,
)
from .._meaning.descents import After
from .._meaning.runs import number_after
from .._running.logs import log_wait
from .._running.sleeping import LONGEST_SLEEP, awaitable, blocking
from .._words.calls import Call, CallAsync
from .._words.commands import Command, is_coroutine_function, stopped
from .called import Called
from .ends import ended
from .functions import no_coroutine_function


class Watched(Run):
    """One call that observers are told of.

    Attributes:
        called: the function that is called.
        arguments: its arguments, in order.
        keywords: its arguments by name.
        begun: when the call began, on the real clock.
        tried: when its present try began.
        told: the kind of the last event that observers were told.
        after: tells the seconds of its next wait, from its first failure on.
        shortest: the seconds of its last wait; the next one is not shorter.
        no_wait: whether there was no wait for its failure.
    """

    __slots__ = ("arguments", "begun", "called", "keywords", "told", "tried")
    called: Called
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    begun: float
    tried: float
    told: type[Event] | None
    tries = 1
    shortest = 0.0
    after: After | None = None
    no_wait = False

    @property
    def name(self) -> str:
        return self.called.name

    def _make(self) -> Command[Any]:
        function = self.called.function
        kind: Any = CallAsync if is_coroutine_function(function) else Call
        made: Command[Any] = kind(function, self.arguments, tuple(self.keywords.items()))
        return made


# Without `of`, in half the time: where a call begins and where it is well.
blank_began: Any = Began
blank_issued: Any = Issued
blank_answered: Any = Answered
blank_ended: Any = Ended

run_in = RUNNING.set


def watched(
    observer: Observer,
    called: Called,
    last: list[Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Call a function, and again while it fails, and tell observers of it."""
    run, began, issued = Watched(), blank_began(), blank_issued()
    run.called, run.arguments, run.keywords = called, args, kwargs
    began._run = issued._run = run
    run.told = issued._command = None
    mine: Mark = [None, 0]
    failure: Exception | None = None
    begun = run.begun = run.tried = clock()
    try:  # twice, since Ctrl-C may come at the beginning of a `finally`
        try:
            run_in(mine)
            last[0] = mine
            try:
                last[2] = True
                run.told = Began
                observer(began)
                run.told = Issued
                observer(issued)
            except Exception as error:
                go_on(observer, run, error, issued)
            last[2] = False
            while True:
                try:
                    mine[0] = called if called.top else None
                    answer = called.attempt(*args, **kwargs) if kwargs else called.attempt(*args)
                    if REFUSED or answer.__class__ is CoroutineType:
                        check_answer(called, answer, mine)
                except Exception as error:
                    failure = stopped(error) if isinstance(error, StopIteration) else error
                    mine[0] = None  # so that no instruction is outside of a `try` with it
                else:
                    answered, over, now = blank_answered(), blank_ended(), clock()
                    answered._issued, answered._seconds = issued, now - run.tried
                    over._run, over._reason, over._seconds = run, "well", now - begun
                    answered._failure = over._failure = None
                    mine[0] = None
                    try:
                        last[2] = True
                        run.told = Answered
                        observer(answered)
                        run.told = Ended
                        observer(over)
                    except Exception as error:
                        go_on(observer, run, error, over)
                    last[2] = False
                    return answer
                if not waited(observer, run, last, issued, failure, mine):
                    raise failure
                failure, issued = None, Issued.of(run, None)
                tell(observer, run, last, issued)
        finally:
            mine[0] = None
            last[2] = False
            if run.told is not Ended:
                finish(observer, run, last, issued)
    finally:
        mine[0] = None
        last[2] = False
        if run.told is not Ended:
            finish(observer, run, last, issued)
        failure = None


async def watched_async(
    observer: Observer,
    called: Called,
    last: list[Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """As `watched`, for a coroutine function."""
    run, began, issued = Watched(), blank_began(), blank_issued()
    run.called, run.arguments, run.keywords = called, args, kwargs
    began._run = issued._run = run
    run.told = issued._command = None
    mine: Mark = [None, 0]
    failure: Exception | None = None
    begun = run.begun = run.tried = clock()
    try:  # twice, since Ctrl-C may come at the beginning of a `finally`
        try:
            run_in(mine)
            last[1] = True
            try:
                last[2] = True
                run.told = Began
                observer(began)
                run.told = Issued
                observer(issued)
            except Exception as error:
                go_on(observer, run, error, issued)
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
                    answered, over, now = blank_answered(), blank_ended(), clock()
                    answered._issued, answered._seconds = issued, now - run.tried
                    over._run, over._reason, over._seconds = run, "well", now - begun
                    answered._failure = over._failure = None
                    mine[0] = None
                    try:
                        last[2] = True
                        run.told = Answered
                        observer(answered)
                        run.told = Ended
                        observer(over)
                    except Exception as error:
                        go_on(observer, run, error, over)
                    last[2] = False
                    return answer
                if not await waited_async(observer, run, last, issued, failure, mine):
                    raise failure
                failure, issued = None, Issued.of(run, None)
                tell(observer, run, last, issued)
        finally:
            mine[0] = None
            last[2] = False
            if run.told is not Ended:
                finish(observer, run, last, issued)
    finally:
        mine[0] = None
        last[2] = False
        if run.told is not Ended:
            finish(observer, run, last, issued)
        failure = None


begins(watched.__code__)
begins(watched_async.__code__)


def check_answer(called: Called, answer: Any, mine: Mark) -> None:
    """Check that a try was one: it made no coroutine, and nothing inside it was refused.

    Raises:
        Misuse: it was none.
    """
    if answer.__class__ is CoroutineType:
        raise no_coroutine_function(called.function, answer)
    check_not_refused(mine)


def tell(observer: Observer, run: Watched, last: list[Any], event: Event) -> None:
    """Tell one event, whatever the observer makes of it."""
    kind = event.__class__
    try:
        last[2] = True
        run.told = kind
        observer(event)
    except Exception as error:
        REGISTER.warn(observer, error)
    finally:
        last[2] = False


def go_on(observer: Observer, run: Watched, error: Exception, second: Event) -> None:
    """Warn of an observer that failed, and tell the second of two events if it has not been."""
    REGISTER.warn(observer, error)
    kind = second.__class__
    if run.told is not kind:
        try:
            run.told = kind
            observer(second)
        except Exception as another:
            REGISTER.warn(observer, another)


def waited(
    observer: Observer,
    run: Watched,
    last: list[Any],
    issued: Issued,
    failure: Exception,
    mine: Mark,
) -> bool:
    """Tell of a failed try and wait after it; return `False` if there is no wait for it."""
    try:
        seconds = failed_try(observer, run, last, issued, failure)
        if seconds is None:
            return False
        blocking()(min(seconds, LONGEST_SLEEP))
        wait_over(run, seconds, mine)
        return True
    finally:  # an exception must not be kept alive by a frame in its own traceback
        del failure


async def waited_async(
    observer: Observer,
    run: Watched,
    last: list[Any],
    issued: Issued,
    failure: Exception,
    mine: Mark,
) -> bool:
    """As `waited`, in an event loop."""
    try:
        seconds = failed_try(observer, run, last, issued, failure)
        if seconds is None:
            return False
        await awaitable()(min(seconds, LONGEST_SLEEP))
        wait_over(run, seconds, mine)
        return True
    finally:
        del failure


def failed_try(
    observer: Observer, run: Watched, last: list[Any], issued: Issued, failure: Exception
) -> float | None:
    """Tell of a try that has failed, and tell and log the wait after it, if there is one.

    Return its seconds.
    """
    called = run.called
    try:
        tell(observer, run, last, Answered.of(issued, clock() - run.tried, failure))
        if REFUSED:
            check_not_refused(RUNNING.get(), failure)
        after: After = run.after or called.descent()
        run.after = after
        seconds = after(failure, run.wait_count, run.shortest)
        run.no_wait = seconds is None
        if seconds is not None:
            run.shortest = seconds
            rung = number_after(called.top, run.wait_count)
            tell(observer, run, last, WaitBegan.of(run, seconds, rung, failure))
            log_wait(called.name, run.wait_count + 1, called.tries, failure, seconds)
        return seconds
    finally:
        del failure


def wait_over(run: Watched, seconds: float, mine: Mark) -> None:
    """Count a wait that is over; the next try begins."""
    mine[1] = run.wait_count = run.wait_count + 1
    run.wait_seconds += seconds
    run.tries += 1
    run.tried = clock()


def finish(observer: Observer, run: Watched, last: list[Any], issued: Issued) -> None:
    """Note, log and tell that a call ends with the present exception, if it was told to begin.

    Its last try is told to have ended, too, if it has not been.
    """
    if run.told is None:
        return
    failure, now = exception(), clock()
    try:
        if isinstance(failure, Exception):
            run.reason = ended(failure, run.called, run.wait_count, run.wait_seconds, run.no_wait)
        if run.told is Issued:
            tell(observer, run, last, Answered.of(issued, now - run.tried, failure))
        if run.told is not Ended:
            tell(
                observer,
                run,
                last,
                Ended.of(run, reason_of(run, failure), now - run.begun, failure),
            )
    finally:
        failure = None
