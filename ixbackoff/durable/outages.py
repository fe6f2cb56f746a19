"""Retries of database calls in an outage; the retries end if the worker closes or loses its lock.

These retries are not a program, because observers would see that program, the run around it would
reject it as nested, and the deadline of the run would abort its calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from functools import partial
from logging import getLogger
from threading import Event
from typing import ParamSpec, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from .._running.sleeping import awaitable
from ..schedules.kinds import Listed
from .journal import RunLost

A = TypeVar("A")
P = ParamSpec("P")

LOGGER = getLogger("ixbackoff")

WAITS = Listed([1, 2, 5, 10])


def in_words(error: BaseException) -> str:
    """Return the message of a database error, without the statement and its values.

    >>> in_words(OSError("No space left on device\\n[parameters: ('sesame',)]"))
    'No space left on device'
    """
    message = getattr(error, "orig", None) or error
    return str(message).partition("\n")[0]


def is_of_database(error: Exception) -> bool:
    return isinstance(error, SQLAlchemyError)


def insist(
    run: str,
    function: Callable[[], A],
    stop: Event,
    chosen: Callable[[Exception], bool] = is_of_database,
) -> A:
    """Call `function`; retry after a `chosen` exception, but raise RunLost once `stop` is set."""
    k = 0
    while True:
        try:
            return function()
        except Exception as error:
            if not chosen(error):
                raise
            seconds = wait_after(run, error, k)
        if stop.wait(seconds):
            raise RunLost
        k += 1


async def insist_async(
    run: str,
    function: Callable[[], Awaitable[A]],
    chosen: Callable[[Exception], bool] = is_of_database,
) -> A:
    """Await `function()`, and retry it as `insist` does; a cancellation ends the retries."""
    k = 0
    while True:
        try:
            return await function()
        except Exception as error:
            if not chosen(error):
                raise
            seconds = wait_after(run, error, k)
        await awaitable()(seconds)
        k += 1


async def insist_in_thread(
    run: str, function: Callable[P, A], /, *args: P.args, **kwargs: P.kwargs
) -> A:
    """Call a plain function in another thread, and retry it as `insist_async` does."""
    called = outside_of_workflows(partial(function, *args, **kwargs))
    return await insist_async(run, lambda: asyncio.to_thread(called))


def outside_of_workflows(function: Callable[[], A]) -> Callable[[], A]:
    """Make `function` run in an empty context, so that DBOS does not record queries as steps."""
    return lambda: Context().run(function)


def wait_after(run: str, error: Exception, k: int) -> float:
    """Log that the database has failed; return the seconds until the next try."""
    seconds = WAITS.seconds(k)
    LOGGER.warning(
        "run %s waits: the database fails, trying again in %g s: %s", run, seconds, in_words(error)
    )
    return seconds
