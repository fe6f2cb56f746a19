"""The PostgreSQL database of an index; `index.py` has the tables."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from math import ceil
from typing import Any

from sqlalchemy import Connection, create_engine, event, func, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from .database_interface import DatabaseError, Execute, replaced

DRIVER = "postgresql+psycopg"
DRIVERS = ("postgresql", DRIVER)
OPTIONS = {"connect_timeout": "10", "tcp_user_timeout": "10000"}
PATIENCE = 5.0
"""Seconds that a statement may wait for a lock; in all, a statement may take twice as long."""


class PostgreSQL:
    """A PostgreSQL database, by its URL: `postgresql+psycopg://user:password@host/database`."""

    tables = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    locked = " FOR UPDATE"

    def __init__(self, url: str) -> None:
        try:
            parsed = make_url(url)
            if parsed.drivername not in DRIVERS:
                raise ValueError
            self.place = parsed.database or DRIVER
            if parsed.host:
                self.place = f"{parsed.host}:{parsed.port or 5432}/{self.place}"
            options = {**OPTIONS, **parsed.query}
            self.engine = create_engine(parsed.set(drivername=DRIVER, query=options))
        except (ArgumentError, TypeError) as error:
            raise ValueError from error
        event.listen(self.engine, "do_connect", self._connects)
        self._left = 0.0

    @contextmanager
    def transaction(self, _writes: bool, left: float, /) -> Generator[Execute]:
        self._left = left
        with replaced(DBAPIError, failure_of), self.engine.begin() as connection:
            limit(connection, left)

            def execute(statement: str, values: Mapping[str, object]) -> Any:
                done = connection.execute(text(statement), values)
                return done.fetchall() if done.returns_rows else ()

            yield execute

    def _connects(self, _dialect: Any, _record: Any, _words: Any, options: dict[str, Any]) -> None:
        """Lower the connect timeout to the seconds that the transaction has left; 2 at least."""
        if str(options["connect_timeout"]).isdecimal():
            seconds = min(int(options["connect_timeout"]), ceil(self._left))
            options["connect_timeout"] = max(2, seconds)

    def close(self) -> None:
        self.engine.dispose()


def failure_of(error: DBAPIError) -> DatabaseError:
    return DatabaseError(error.orig, error.connection_invalidated)


def limit(connection: Connection, left: float) -> None:
    """Limit the time of each statement of a transaction, and its wait for locks."""
    seconds = max(0.05, min(PATIENCE, left))
    limits = ("lock_timeout", seconds), ("statement_timeout", 2 * seconds)
    settings = [func.set_config(name, f"{ceil(1000 * each)}ms", True) for name, each in limits]
    connection.execute(select(*settings))
