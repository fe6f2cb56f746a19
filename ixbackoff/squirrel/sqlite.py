"""The SQLite database of an index, in a file or in memory; `index.py` has the tables."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from .database_interface import DatabaseError, Execute, replaced

IN_MEMORY = ":memory:"
SHAPE = re.compile(r"sqlite(?:\+pysqlite)?://(?:/(?P<file>[^?]*))?(?:\?(?P<options>.*))?")
TIMEOUT = 1.0  # the seconds for which SQLite waits for the lock of another program
WRITES = "PRAGMA synchronous=FULL"
"""With this and a write-ahead log, a commit survives a power cut."""


class SQLite:
    """A SQLite database, by its URL, `sqlite:///file?timeout=seconds`, or the path of its file."""

    tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
    locked = ""

    def __init__(self, url: str | Path) -> None:
        self.place, self._timeout = path_of(url), TIMEOUT
        if isinstance(url, str):
            options = dict(parse_qsl(url.partition("?")[2], strict_parsing="?" in url))
            self._timeout = float(options.pop("timeout", TIMEOUT))
            if options:
                raise ValueError
        self._connection: sqlite3.Connection | None = None
        self._ahead = False

    @contextmanager
    def transaction(self, writes: bool, left: float, /) -> Generator[Execute]:
        with replaced(sqlite3.Error, DatabaseError):
            if self._connection is None:
                self._connection = self._opened()
                ((version,),) = self._connection.execute("PRAGMA schema_version")
                if version == 0:  # the database has no table
                    self._log_ahead()
            execute = self._connection.execute
            execute(f"PRAGMA busy_timeout={round(1000 * max(0.0, min(self._timeout, left)))}")
            execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            try:
                yield lambda statement, values: execute(statement, values).fetchall()
                execute("COMMIT")
                if not self._ahead:  # this transaction has shown that the file is an index
                    self._log_ahead()
            finally:
                if self._connection.in_transaction:
                    execute("ROLLBACK")

    def _log_ahead(self) -> None:
        """Switch SQLite to a write-ahead log, so that other squirrels read while one writes.

        This changes the file for good, so callers first check that it has no table or is an index.
        """
        assert self._connection is not None
        with suppress(sqlite3.OperationalError):  # if locked, the next transaction tries again
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._ahead = True

    def _opened(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.place, timeout=self._timeout, isolation_level=None, check_same_thread=False
        )
        # decode any text, even that of a damaged database
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        try:
            connection.execute(WRITES)
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def path_of(url: str | Path) -> str:
    """Return the path in the URL of a SQLite database; raise ValueError for another URL.

    >>> path_of("sqlite:///a/b?timeout=5"), path_of("sqlite:////a"), path_of("sqlite://")
    ('a/b', '/a', ':memory:')
    """
    if isinstance(url, Path):
        return str(url)
    found = SHAPE.fullmatch(url)
    if found is None:
        raise ValueError
    return unquote(found["file"] or "") or IN_MEMORY


def is_in_memory(url: str | Path) -> bool:
    try:
        return path_of(url) == IN_MEMORY
    except ValueError:
        return False
