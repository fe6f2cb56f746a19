"""Plain functions: which they are, when they are tried again, and who answers for them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, NamedTuple

from .calls import Call, CallAsync
from .commands import GENERATORS, AsyncInterpreter, Interpreter, Misuse, code_flags
from .descents import Kinds
from .eventloops import now, sleeping
from .failures import On, Predicate, predicate
from .vocabulary import INFO, Delay, Now

LONGEST_SLEEP = 1e9  # seconds, 31 years: no clock takes what a server's Retry-After may ask for


def log(wait: Delay) -> None:
    """Say that it waits, at the level INFO, to the logger `"ixbackoff"`, if there is logging."""
    if listener()(INFO):
        logger().log(INFO, "%s", wait)


def listener() -> Callable[[int], bool]:
    """What says whether anyone wants to know of a wait: ask before each, since levels change."""
    listens: Callable[[int], bool] = unheard
    if "logging" in sys.modules:
        listens = logger().isEnabledFor
    return listens


def unheard(_level: int, /) -> bool:
    """There is no logging."""
    return False


@cache
def logger() -> Any:
    return sys.modules["logging"].getLogger("ixbackoff")


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
    | Now.handled_by(lambda _: now())
)


def kinds_and_predicate(on: On) -> tuple[Kinds, Predicate]:
    """The kinds of failures that are chosen by their kind alone, and what else chooses one."""
    chosen = predicate(on)
    given: Any = on
    kinds: tuple[type, ...] = (
        given if isinstance(on, tuple) else (given,) if isinstance(on, type) else ()
    )
    if not kinds or any(issubclass(Misuse, kind) or issubclass(kind, Misuse) for kind in kinds):
        return (), lambda failure: not isinstance(failure, Misuse) and chosen(failure)
    return given, lambda _: False


def check_function(function: Any) -> None:
    """See that it can be tried again.

    Raises:
        TypeError: it is no function that can be tried again.
    """
    name = getattr(function, "__name__", repr(function))
    kind = type(function).__name__
    if kind in ("staticmethod", "classmethod", "property"):
        raise TypeError(f"backoff on a {kind}: write it below @{kind}.")
    if not callable(function):
        raise TypeError(f"backoff on {function!r}: it is for functions and methods.")
    if code_flags(function) & GENERATORS:
        raise TypeError(
            f"backoff on {name}: it is a generator function, and what it had given before it "
            "failed would be given again: try again what it calls, or collect what it gives into "
            "a list."
        )


def no_coroutine_function(function: Any, coroutine: Any) -> Misuse:
    """The error of a function that gives a coroutine and does not say so."""
    coroutine.close()
    name = getattr(function, "__name__", repr(function))
    return Misuse(
        f"backoff on {name}: it is not written with `async def`, yet it gave a coroutine, of which "
        "nothing would be tried again: put it on the `async def` itself."
    )


class Others(NamedTuple):
    """Who answers instead."""

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
    """In this block, `interpreter` runs what `backoff` has made: for tests.

    It holds in this thread or task, and in tasks that the block starts. An `Interpreter` answers
    for functions (`Call`) and for coroutine functions (`CallAsync`), an `AsyncInterpreter` for
    coroutine functions only. What it has no handler for fails; nothing is called for real instead.

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
        now = Others(interpreter, interpreter)
    elif isinstance(interpreter, AsyncInterpreter):
        now = before._replace(awaited=interpreter)
    else:
        raise Misuse(
            f"answered_by({interpreter!r}): give an interpreter, such as world.interpreter."
        )
    token = OTHERS.set(now)
    try:
        yield
    finally:
        OTHERS.reset(token)


def interpreter() -> Interpreter[Any]:
    """Who answers for functions here."""
    others = OTHERS.get()
    return PLAIN if others is None or others.sync is None else others.sync


def interpreter_async() -> Interpreter[Any] | AsyncInterpreter[Any]:
    """Who answers for coroutine functions here."""
    others = OTHERS.get()
    return PLAIN_ASYNC if others is None or others.awaited is None else others.awaited
