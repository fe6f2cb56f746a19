"""No retry inside a retry, at run time: a run that may wait sets a mark, and first looks for one.

The mark is in the context, so tasks and threads that a handler starts with a copy of its context
see it. If a handler runs something in another context, the thread tells that a run goes on there.
The stack of frames then decides: other tasks of an event loop, and greenlets, are not inside.
"""

from __future__ import annotations

import sys
from _thread import _local  # threading's own; threading itself costs 5 ms to import
from contextvars import ContextVar
from types import CodeType, FrameType
from typing import Any, TypeAlias

from .._words.commands import Misuse
from .eventloop import running

__tracebackhide__ = True

Mark: TypeAlias = list[Any]
"""The program that runs, or `None` once it is over, in every copy; and how often it tried again.

Behind these stands the error of a program that was refused inside it, if one was.
"""

OVER: Mark = [None, 0]


RUNNING: ContextVar[Mark] = ContextVar("ixbackoff_running", default=OVER)
HERE = _local()
"""Its `last` is the last sync run of this thread, by its mark, whether an async one may be going
on, and whether an observer is told of something, so that nobody is told of what it runs itself.
In a new thread it is missing until `new_thread`, since a subclass would be slower.
"""


def this_thread() -> list[Any]:
    """Return the `last` of this thread."""
    try:
        last: list[Any] = HERE.last
    except AttributeError:
        return new_thread()
    return last


def new_thread() -> list[Any]:
    """Begin the `last` of a thread, where there is no run yet."""
    last: list[Any] = [OVER, False, False]
    HERE.last = last
    return last


BEGINNERS: dict[int, CodeType] = {}
"""The code of functions that run programs that may wait, by id, since hashing code is slow."""


def begins(code: CodeType) -> None:
    """Register the code of a function that runs what may wait, and names its mark `mine`."""
    BEGINNERS[id(code)] = code


def begin(mine: Mark, program: object, *, awaits: bool = False) -> None:
    """Mark that a program that may wait runs; no other one may run inside it until its `end`.

    Call this in a `try` whose `finally` calls `end`, and put another such `try` around that, since
    Ctrl-C may come between any two instructions.

    Raises:
        Misuse: it runs inside another one itself.
    """
    last = this_thread()
    if RUNNING.get()[0] is not None or last[0][0] is not None or last[1]:
        check_alone(program)
    mine[0] = program
    RUNNING.set(mine)
    if awaits:
        last[1] = True
    else:
        last[0] = mine


def end(mine: Mark) -> None:
    """Mark that the program is over."""
    mine[0] = None


def check_alone(inner: object, once: bool = False) -> object:
    """Check that what begins is not inside a program that may wait.

    Args:
        inner: what begins.
        once: whether it can do without further tries, if it or the one around it says so.

    Returns:
        The one around it, if it is to be tried once; else `None`.

    Raises:
        Misuse: it is inside another one.
    """
    mark = RUNNING.get()
    if mark[0] is None:
        mark = mark_around()
    outer = mark[0]
    if outer is None:
        this_thread()[1] = running() != (None, None)
        return None
    if once and (getattr(inner, "once", False) or getattr(outer, "once", False)):
        return outer
    raise refused(inner, mark, once)


def mark_around() -> Mark:
    """Return the mark of the innermost of the `BEGINNERS` on the stack whose program runs."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if id(frame.f_code) in BEGINNERS:
            mark: Mark = frame.f_locals.get("mine", OVER)
            if mark[0] is not None:
                return mark
        frame = frame.f_back
    return OVER


def check_begun(program: object) -> None:
    """Check that a program that may wait is not begun inside another one.

    Raises:
        Misuse: it would be.
    """
    if getattr(program, "may_wait", False) is False:
        return
    mark, last = RUNNING.get(), this_thread()
    if mark[0] is None and (last[0][0] is not None or last[1]):
        mark = mark_around()
    if mark[0] is not None:
        raise refused(program, mark)


REFUSED: list[bool] = []
"""Not empty once something was refused: until then no run need look whether it caught that."""


def refused(inner: object, mark: Mark, once: bool = False) -> Misuse:
    """Make the error for what runs inside another one, and let that one know of it."""
    instead = ', or give the backoff of either nested="once"' if once else ""
    message = (
        f"{inner} was called inside {mark[0]}, and their retries would multiply: let only the "
        f"outer one try again{instead}."
    )
    REFUSED[:] = [True]
    mark[2:] = [message]
    return Misuse(message)


def check_not_refused(mine: Mark, failure: BaseException | None = None) -> None:
    """Check that the body of a run did not take the error of a nested one for a failure.

    Raises:
        Misuse: it did.
    """
    if len(mine) > 2 and not isinstance(failure, Misuse):
        raise Misuse(mine[2]) from failure


def tries_so_far() -> int:
    """Return how many tries have failed before the present one: for its function or its handlers.

    It counts the failures after which the program or the function that runs here has waited: 0 at
    the first try, and where nothing is tried again. A client that is asked to count its resends, as
    OpenTelemetry's `http.request.resend_count` does, sends this number.

    >>> from ixbackoff import N2, Log, NotReady, at
    >>> from ixbackoff.observing import tries_so_far
    >>> from ixbackoff.testing import Virtual, answers, computed
    >>> def number(command: Log) -> None:
    ...     print(tries_so_far())
    >>> world = Virtual(Log.handled_by(answers(computed(number), NotReady(), computed(number))))
    >>> at(N2).retry(Log("try")).run(world.interpreter)
    0
    """
    program, again, *_ = RUNNING.get()
    return 0 if program is None else again
