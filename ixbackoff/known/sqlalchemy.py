"""Failures of SQLAlchemy: those of the driver below it, a full pool, and a lost connection.

SQLAlchemy's own verdict that the connection was lost (`connection_invalidated`, from the dialect's
`is_disconnect`) holds for every driver. The transaction was rolled back, unless the traceback shows
a COMMIT, which may have been carried out.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy.exc import (
    DBAPIError,
    DisconnectionError,
    SQLAlchemyError,
    StatementError,
    TimeoutError,  # noqa: A004
)

from .._words import judging
from .._words.judging import Verdict
from .judge_helpers import name_of, permanent, through

COMMITS = ("_commit_impl", "_commit_twophase_impl")


def judge(failure: Any) -> Verdict:
    """Judge a failure of SQLAlchemy, or one of a driver that it adapts to asyncio."""
    if isinstance(failure, TimeoutError | DisconnectionError):
        return Verdict(True)
    if isinstance(failure, DBAPIError) and failure.connection_invalidated:
        if through(failure, "sqlalchemy.engine", *COMMITS):
            return permanent(failure, " in a COMMIT, which may have been carried out")
        return Verdict(True)
    if isinstance(failure, StatementError):
        return as_the_driver(failure, failure.orig)
    if isinstance(failure, SQLAlchemyError):
        return permanent(failure)
    return as_the_driver(failure, failure.__cause__ or getattr(failure, "orig", None))


def as_the_driver(failure: Exception, below: BaseException | None) -> Verdict:
    if not isinstance(below, Exception):
        return permanent(failure)
    found = judging.judge(below)
    return found if found.transient else Verdict(False, why=f"{name_of(failure)}: {found.why}")
