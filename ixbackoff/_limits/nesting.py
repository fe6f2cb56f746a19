"""Rejection, at run time, of a retry inside a retry: a run that may wait marks its context."""

from __future__ import annotations

import sys
from _thread import _local  # threading's own; threading itself costs 5 ms to import
from collections.abc import Callable
from contextvars import ContextVar
from types import CodeType, FrameType
from typing import Any, TypeAlias, TypeVar

from .._words.commands import Misuse
from .._words.process_state import StateList, placed
from .event_loop import running

__tracebackhide__ = True

# A run that starts inside the handler or the function of another run must be rejected, or their
# retries multiply. Type checkers see this for programs. For functions that call each other we have
# to answer, on every call and within a fraction of a microsecond: is another run around this one?
#
# Things that don't work:
#
# - A context variable alone. A handler may call code in another context (`Context().run`, as some
#   frameworks do for every request), where an inner run sees nothing. In the other direction, a
#   task that a handler starts inherits the variable and keeps it for as long as it lives, long
#   after the outer run has ended. Resetting the variable with its token does not change the task's
#   copy.
#
# - A thread-local alone. Tasks of one event loop, and greenlets, share a thread without being
#   inside each other, and work that a handler hands to another thread is inside the run.
#
# - The stack alone. It ends at the boundary of a task or a thread, and to walk it on every call
#   costs more than the call.
#
# What we do: the context variable holds a list, the mark, which all copies of the context share.
# The end of a run empties the mark, so every copy learns of it, and no token is needed. A
# thread-local notes the newest run of its thread. If the mark is empty and the thread-local says
# that a run may be active, `mark_around` walks the stack and decides: it looks for the frame of a
# function decorated with `carries_mark`, and reads the local variable `mine` there.
#
# What remains: a thread or task that a handler starts without its context counts as outside.

F = TypeVar("F", bound=Callable[..., Any])

Mark: TypeAlias = list[Any]
"""The program that runs, and its number of retries; the program is `None` once the run has ended.

A third item, if present, is the message for a nested program that was rejected.
"""

OVER: Mark = [None, 0]  # a mark of no run

RUNNING = placed("RUNNING", ContextVar[Mark]("ixbackoff_running", default=OVER))

SERVED: ContextVar[Any] = ContextVar("ixbackoff_served", default=None)


def served() -> Any:
    """Return the `ServedRequest` that this code is part of, `None` if there is none."""
    request = SERVED.get()
    return None if request is None or request.over else request


class ThreadState:
    """The runs of one thread."""

    __slots__ = ("awaits", "mark", "notifying")

    def __init__(self) -> None:
        self.mark: Mark = OVER  # of its newest sync run
        self.awaits = False  # whether an async run may be active
        self.notifying = False  # true in an observer or a simulation: its runs are not observed


HERE = placed("HERE", _local())
"""`HERE.state` is the state of this thread, once `new_thread` has set it.

A subclass of `_local` with an `__init__` would be slower.
"""


def this_thread() -> ThreadState:
    try:
        state: ThreadState = HERE.state
    except AttributeError:
        return new_thread()
    return state


def new_thread() -> ThreadState:
    state = HERE.state = ThreadState()
    return state


CARRIERS: dict[int, CodeType] = {}
"""The code objects of the functions that carry a mark, by id: hashing a code object is slow."""


def carries_mark(function: F) -> F:
    """Decorate a function that runs a program and stores its mark in a local variable `mine`."""
    code: CodeType = function.__code__
    assert "mine" in code.co_varnames, f"{function.__qualname__} has no variable `mine`"
    CARRIERS[id(code)] = code
    return function


def begin(mine: Mark, program: object, *, awaits: bool = False) -> None:
    """Mark this context as running `program`; raise `Misuse` if a run that may wait is around it.

    Call this in a `try` whose `finally` begins with `mine[0] = None`, which clears the mark in all
    copies of the context: see the comment in `interrupt_safety`.
    """
    thread = this_thread()
    if RUNNING.get()[0] is not None or thread.mark[0] is not None or thread.awaits:
        check_alone(program)
    mine[0] = program
    RUNNING.set(mine)
    if awaits:
        thread.awaits = True
    else:
        thread.mark = mine


def may_be_inside() -> bool:
    """Return whether a run may be around the caller; if so, `check_alone` decides."""
    thread = this_thread()
    return RUNNING.get()[0] is not None or thread.mark[0] is not None or thread.awaits


def check_alone(inner: object, once: bool = False) -> object:
    """Return `None` if no run is around `inner`; raise `Misuse` if there is one.

    With `once`, if `inner` or that run has nested="once", return the run: `inner` is tried once.
    """
    mark = RUNNING.get()
    if mark[0] is None:
        mark = mark_around()
    outer = mark[0]
    if outer is None:
        this_thread().awaits = running() != (None, None)
        return None
    if once and (getattr(inner, "once", False) or getattr(outer, "once", False)):
        return outer
    raise rejection(inner, mark, once)


def mark_around() -> Mark:
    """Return the mark of the innermost active run on the stack, or `OVER`."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_name == "retried" and id(code) not in CARRIERS and code in CARRIERS.values():
            CARRIERS[id(code)] = code  # unpickling the function has copied its code
        if id(code) in CARRIERS:
            mark: Mark = frame.f_locals.get("mine", OVER)  # missing: the run has not begun
            if mark[0] is not None:
                return mark
        frame = frame.f_back
    return OVER


def check_begun(program: object) -> None:
    """Raise `Misuse` if `program` may wait and there is a run around it."""
    if getattr(program, "may_wait", False) is False:
        return
    mark, thread = RUNNING.get(), this_thread()
    if mark[0] is None and (thread.mark[0] is not None or thread.awaits):
        mark = mark_around()
    if mark[0] is not None:
        raise rejection(program, mark)


REJECTED = placed("REJECTED", StateList[bool]())
"""Not empty after this process's first rejection; before, runs may skip `check_not_rejected`."""


def rejection(inner: object, mark: Mark, once: bool = False) -> Misuse:
    """Return the error for a nested `inner`, and leave its message in the mark of the outer run."""
    instead = ", and start the inner program at N0"
    instead = ', or pass nested="once" to the backoff of either' if once else instead
    message = (
        f"{inner} was called inside {mark[0]}, and their retries would multiply: let only the "
        f"outer one try again{instead}."
    )
    REJECTED[:] = [True]
    mark[2:] = [message]
    return Misuse(message)


def check_not_rejected(mine: Mark, failure: BaseException | None = None) -> None:
    """Raise the error of a nested program again if the body of this run has swallowed it."""
    if len(mine) > 2 and not isinstance(failure, Misuse):
        raise Misuse(mine[2]) from failure


def tries_so_far() -> int:
    """Return the number of failed tries before the current one, inside a function or a handler.

    The number is 0 on the first try of a run and outside of runs. A failure counts only if a
    wait followed it. Use the number where a protocol wants the number of resends, as OpenTelemetry
    does in `http.request.resend_count`.

    >>> from ixbackoff import N2, Log, NotReady, at
    >>> from ixbackoff.observing import tries_so_far
    >>> from ixbackoff.testing import Virtual, answers, computed
    >>> def number(command: Log) -> None:
    ...     print(tries_so_far())
    >>> world = Virtual(Log.handled_by(answers(NotReady(), computed(number))))
    >>> at(N2).retry(Log("try")).run(world.interpreter)
    1
    """
    program, retries, *_ = RUNNING.get()
    return 0 if program is None else retries
