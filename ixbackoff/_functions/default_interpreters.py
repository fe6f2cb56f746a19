"""The interpreters that run decorated functions: the real ones, or those of a test."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from .._limits.observers import REGISTER
from .._running.sleeping import sleep, sleep_async
from .._running.tasks_and_timeouts import now
from .._words.call_commands import Call, CallAsync
from .._words.commands import AsyncInterpreter, Interpreter, Misuse
from .._words.process_state import placed
from .._words.standard_commands import Delay, Now

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


class Others:
    """The interpreters that a test has installed in place of the real ones."""

    def __init__(
        self,
        sync: Interpreter[Any] | None = None,
        awaited: Interpreter[Any] | AsyncInterpreter[Any] | None = None,
    ) -> None:
        self.sync = sync
        self.awaited = awaited

    def restore(self) -> None:
        """Restore the real interpreters, even in tasks and threads that hold this object."""
        self.sync = self.awaited = None


OTHERS = placed("OTHERS", ContextVar[Others | None]("ixbackoff_others", default=None))


@contextmanager
def answered_by(
    interpreter: (
        Interpreter[Call[Any] | Delay]
        | Interpreter[CallAsync[Any] | Delay]
        | AsyncInterpreter[CallAsync[Any] | Delay]
    ),
) -> Generator[None]:
    """Run decorated functions and blocks with `interpreter` inside this block: for tests.

    It applies to this thread or task, and to tasks that the block starts. An `Interpreter` runs
    functions (`Call`) and coroutine functions (`CallAsync`); an `AsyncInterpreter` runs coroutine
    functions, and plain functions run as without it. A command that has no handler fails.

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
    token = OTHERS.set(in_place_of_the_real_ones(interpreter))
    try:
        yield
    finally:
        OTHERS.reset(token)


def in_place_of_the_real_ones(interpreter: Interpreter[Any] | AsyncInterpreter[Any]) -> Others:
    """Return the value of `OTHERS` that installs `interpreter`."""
    REGISTER.swap()
    if isinstance(interpreter, Interpreter):
        return Others(interpreter, interpreter)
    given: object = interpreter
    if not isinstance(given, AsyncInterpreter):
        raise Misuse(f"answered_by({given!r}): give an interpreter, such as world.interpreter.")
    before = OTHERS.get()
    return Others(None if before is None else before.sync, interpreter)


def interpreter() -> Interpreter[Any]:
    others = OTHERS.get()
    return PLAIN if others is None or others.sync is None else others.sync


def interpreter_async() -> Interpreter[Any] | AsyncInterpreter[Any]:
    others = OTHERS.get()
    return PLAIN_ASYNC if others is None or others.awaited is None else others.awaited
