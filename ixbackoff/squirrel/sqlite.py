"""An index in a SQLite file, or in memory."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from .databases import Execute, Failed

IN_MEMORY = ":memory:"
SHAPE = re.compile(r"sqlite(?:\+pysqlite)?://(?:/(?P<file>[^?]*))?(?:\?(?P<options>.*))?")
TIMEOUT = 1.0
"""Seconds for a lock of another program; this wait is not shown."""
PRAGMAS = ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL")


class SQLite:
    """A SQLite database.

    Args:
        url: `sqlite:///file?timeout=seconds`, or the path of a file.

    Raises:
        ValueError: the URL is not one of these.
    """

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

    @contextmanager
    def transaction(self, writes: bool, _left: float, /) -> Generator[Execute]:
        try:
            connection = self._connected()
            connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            try:
                yield lambda statement, values: connection.execute(statement, values).fetchall()
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            failed = Failed(error)
        else:
            return
        raise failed

    def _connected(self) -> sqlite3.Connection:
        """Open the database so that what is committed outlives a power cut."""
        if self._connection is None:
            connection = sqlite3.connect(self.place, timeout=self._timeout, isolation_level=None)
            try:
                for pragma in PRAGMAS:
                    connection.execute(pragma)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def path_of(url: str | Path) -> str:
    """Return the path of the file that a URL names.

    >>> path_of("sqlite:///a/b?timeout=5"), path_of("sqlite:////a"), path_of("sqlite://")
    ('a/b', '/a', ':memory:')

    Raises:
        ValueError: it is not the URL of a SQLite database.
    """
    if isinstance(url, Path):
        return str(url)
    found = SHAPE.fullmatch(url)
    if found is None:
        raise ValueError
    return unquote(found["file"] or "") or IN_MEMORY


def is_in_memory(url: str | Path) -> bool:
    """Return whether a database does not outlive its process.

    >>> is_in_memory("sqlite://"), is_in_memory("sqlite:///index.sqlite")
    (True, False)
    """
    try:
        return path_of(url) == IN_MEMORY
    except ValueError:
        return False
