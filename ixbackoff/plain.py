"""Who answers for plain functions: the system's clock, and the functions themselves."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from .calls import Call, CallAsync
from .commands import AsyncInterpreter, Interpreter, Misuse
from .eventloops import sleeping
from .vocabulary import Delay, Now

LONGEST_SLEEP = 1e9  # seconds, 31 years: no clock takes what a server's Retry-After may ask for
INFO = 20  # logging.INFO; logging itself costs 16 ms to import


def log(wait: Delay) -> None:
    """Say that it waits, at the level INFO, to the logger `"ixbackoff"`, if there is logging."""
    if logged():
        sys.modules["logging"].getLogger("ixbackoff").log(INFO, "%s", wait)


def logged() -> bool:
    """Whether anyone wants to know of waits."""
    logging = sys.modules.get("logging")
    return logging is not None and logging.getLogger("ixbackoff").isEnabledFor(INFO)


def sleep(wait: Delay) -> None:
    log(wait)
    time.sleep(min(wait.seconds, LONGEST_SLEEP))


async def awaited_sleep(wait: Delay) -> None:
    log(wait)
    await sleeping()(min(wait.seconds, LONGEST_SLEEP))


calls: type[Call[Any]] = Call
calls_async: type[CallAsync[Any]] = CallAsync

PLAIN = (
    calls.handled_by(lambda command: command())
    | Delay.handled_by(sleep)
    | Now.handled_by(lambda _: time.monotonic())
)
PLAIN_ASYNC = (
    calls_async.awaited_by(lambda command: command())
    | Delay.awaited_by(awaited_sleep)
    | Now.handled_by(lambda _: time.monotonic())
)


class Others(NamedTuple):
    """Who answers instead."""

    sync: Interpreter[Any] | None = None
    awaited: AsyncInterpreter[Any] | None = None


OTHERS: ContextVar[Others | None] = ContextVar("ixbackoff_others", default=None)


@contextmanager
def answered_by(
    interpreter: Interpreter[Call[Any] | Delay] | AsyncInterpreter[CallAsync[Any] | Delay],
) -> Generator[None]:
    """In this block, `interpreter` runs what `backoff` has made: for tests.

    It holds in this thread or task, and in tasks that the block starts. An `Interpreter` answers for
    functions, an `AsyncInterpreter` for coroutine functions.

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
        TypeError: it is no interpreter.
    """
    before = OTHERS.get() or Others()
    if isinstance(interpreter, Interpreter):
        now = before._replace(sync=interpreter)
    elif isinstance(interpreter, AsyncInterpreter):
        now = before._replace(awaited=interpreter)
    else:
        raise Misuse(f"answered_by({interpreter!r}): give an interpreter, such as world.interpreter.")
    token = OTHERS.set(now)
    try:
        yield
    finally:
        OTHERS.reset(token)


def interpreter() -> Interpreter[Any]:
    """Who answers for functions here."""
    others = OTHERS.get()
    return PLAIN if others is None or others.sync is None else others.sync


def interpreter_async() -> AsyncInterpreter[Any]:
    """Who answers for coroutine functions here."""
    others = OTHERS.get()
    return PLAIN_ASYNC if others is None or others.awaited is None else others.awaited
