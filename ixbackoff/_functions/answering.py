"""The interpreter that answers for decorated functions: the real one, or a test's."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from .._limits.observers import REGISTER
from .._running.eventloops import now
from .._running.sleeping import sleep, sleep_async
from .._words.calls import Call, CallAsync
from .._words.commands import AsyncInterpreter, Interpreter, Misuse
from .._words.vocabulary import Delay, Now

calls: type[Call[Any]] = Call
calls_async: type[CallAsync[Any]] = CallAsync

PLAIN = (
    calls.handled_by(lambda command: command())
    | Delay.handled_by(sleep)
    | Now.handled_by(lambda _: time.monotonic())
)
PLAIN_ASYNC = (
    calls_async.awaited_by(lambda command: command())
    | Delay.awaited_by(sleep_async)
    | Now.handled_by(lambda _: now())
)


class Others(NamedTuple):
    """The interpreters that a test has put in place of the real ones."""

    sync: Interpreter[Any] | None = None
    awaited: Interpreter[Any] | AsyncInterpreter[Any] | None = None


OTHERS: ContextVar[Others | None] = ContextVar("ixbackoff_others", default=None)


@contextmanager
def answered_by(
    interpreter: (
        Interpreter[Call[Any] | Delay]
        | Interpreter[CallAsync[Any] | Delay]
        | AsyncInterpreter[CallAsync[Any] | Delay]
    ),
) -> Generator[None]:
    """Let `interpreter` answer for decorated functions and blocks inside this block: for tests.

    It applies in this thread or task, and in tasks that the block starts. An `Interpreter` answers
    for functions (`Call`) and for coroutine functions (`CallAsync`), an `AsyncInterpreter` for
    coroutine functions only. A command without a handler fails; nothing is called for real instead.

    >>> from ixbackoff import N3, Call, NotReady, answered_by, backoff
    >>> from ixbackoff.testing import Virtual, answers
    >>> @backoff(N3)
    ... def page() -> str:
    ...     raise NotImplementedError
    >>> world = Virtual(Call.handled_by(answers(NotReady(), "page")))
    >>> with answered_by(world.interpreter):
    ...     page()
    'page'
    >>> world.waits
    [1.0]

    Raises:
        TypeError: `interpreter` is not an interpreter.
    """
    before = OTHERS.get() or Others()
    if isinstance(interpreter, Interpreter):
        now = Others(interpreter, interpreter)
    elif isinstance(interpreter, AsyncInterpreter):
        now = before._replace(awaited=interpreter)
    else:
        raise Misuse(
            f"answered_by({interpreter!r}): give an interpreter, such as world.interpreter."
        )
    REGISTER.swap()
    token = OTHERS.set(now)
    try:
        yield
    finally:
        OTHERS.reset(token)


def interpreter() -> Interpreter[Any]:
    """Return the interpreter that answers for functions here."""
    others = OTHERS.get()
    return PLAIN if others is None or others.sync is None else others.sync


def interpreter_async() -> Interpreter[Any] | AsyncInterpreter[Any]:
    """Return the interpreter that answers for coroutine functions here."""
    others = OTHERS.get()
    return PLAIN_ASYNC if others is None or others.awaited is None else others.awaited
