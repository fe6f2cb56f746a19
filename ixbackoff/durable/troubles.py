"""Troubles of a database: it cannot be reached, or is full; what it failed to do is tried again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from functools import partial
from logging import getLogger
from typing import ParamSpec, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from .._running.sleeping import awaitable

A = TypeVar("A")
P = ParamSpec("P")

LOGGER = getLogger("ixbackoff")

TROUBLE = (1.0, 2.0, 5.0, 10.0)  # seconds before the database is tried again; the last ones go on


def in_words(error: BaseException) -> str:
    """Return what a database said, without the statement and its values.

    >>> in_words(OSError("No space left on device\\n[parameters: ('sesame',)]"))
    'No space left on device'
    """
    said = getattr(error, "orig", None) or error
    return str(said).partition("\n")[0]


async def later(run: str, error: BaseException, tried: int) -> None:
    """Say that the database has failed, and wait until it is to be tried again."""
    seconds = TROUBLE[min(tried, len(TROUBLE) - 1)]
    LOGGER.warning(
        "run %s waits: the database fails, trying again in %g s: %s", run, seconds, in_words(error)
    )
    await awaitable()(seconds)


async def insisted(run: str, function: Callable[P, A], /, *args: P.args, **kwargs: P.kwargs) -> A:
    """Ask the database for a run in a thread, again and again while it fails."""
    tried = 0
    while True:
        try:
            return await asyncio.to_thread(Context().run, partial(function, *args, **kwargs))
        except SQLAlchemyError as error:
            await later(run, error, tried)
            tried += 1
