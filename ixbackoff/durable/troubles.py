"""Troubles of a database: it cannot be reached, or is full; what it failed to do is tried again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextvars import Context
from functools import partial
from logging import getLogger
from threading import Event
from typing import ParamSpec, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from .._running.sleeping import awaitable

A = TypeVar("A")
P = ParamSpec("P")

LOGGER = getLogger("ixbackoff")

LOOK = 0.1  # seconds between two looks whether to go on waiting
TROUBLE = (1.0, 2.0, 5.0, 10.0)  # seconds before the database is tried again; the last ones go on


def in_words(error: BaseException) -> str:
    """Return what a database said, without the statement and its values.

    >>> in_words(OSError("No space left on device\\n[parameters: ('sesame',)]"))
    'No space left on device'
    """
    said = getattr(error, "orig", None) or error
    return str(said).partition("\n")[0]


def trouble(run: str, error: BaseException, tried: int) -> float:
    """Say that the database has failed; return the seconds until it is to be tried again."""
    seconds = TROUBLE[min(tried, len(TROUBLE) - 1)]
    LOGGER.warning(
        "run %s waits: the database fails, trying again in %g s: %s", run, seconds, in_words(error)
    )
    return seconds


def later(run: str, error: BaseException, tried: int, check: Callable[[], None]) -> None:
    """Say that the database has failed, and wait in this thread until it is to be tried again.

    Args:
        run: the id of the run that waits.
        error: the error of the database.
        tried: how often it was tried again before.
        check: called now and then; an exception of it ends the wait.
    """
    end = time.monotonic() + trouble(run, error, tried)
    while (left := end - time.monotonic()) > 0:
        check()
        Event().wait(min(left, LOOK))


async def later_async(run: str, error: BaseException, tried: int) -> None:
    """Do what `later` does, awaited; a cancellation ends it."""
    await awaitable()(trouble(run, error, tried))


def insist(run: str, function: Callable[[], A], check: Callable[[], None]) -> A:
    """Ask the database for a run in this thread, again and again while it fails."""
    tried = 0
    while True:
        try:
            return Context().run(function)
        except SQLAlchemyError as error:
            later(run, error, tried, check)
            tried += 1


async def insisted(run: str, function: Callable[P, A], /, *args: P.args, **kwargs: P.kwargs) -> A:
    """Do what `insist` does, awaited, with the database in another thread."""
    tried = 0
    while True:
        try:
            return await asyncio.to_thread(Context().run, partial(function, *args, **kwargs))
        except SQLAlchemyError as error:
            await later_async(run, error, tried)
            tried += 1
