"""Milliseconds of SQLite: DBOS asks for them as SQLite does from version 3.42 on.

On Python 3.12 and later DBOS takes it for granted that there is such a version. Debian 12 and the
images that are built on it have 3.40, which answers NULL.
"""

from __future__ import annotations

import sqlite3
import time
from typing import Any

FIRST = (3, 42)


def taught(connection: Any, _record: object = None) -> None:
    """Teach a new connection `unixepoch('subsec')`, if its SQLite does not know that.

    >>> connection = sqlite3.connect(":memory:")
    >>> taught(connection)
    >>> ((seconds,),) = connection.execute("SELECT unixepoch('subsec')")
    >>> abs(seconds - time.time()) < 1
    True
    >>> connection.close()

    Args:
        connection: one of `sqlite3`; those of other drivers stay as they are.
        _record: what SQLAlchemy adds for those who listen to new connections.
    """
    if isinstance(connection, sqlite3.Connection) and sqlite3.sqlite_version_info < FIRST:
        connection.create_function("unixepoch", 1, seconds)


def seconds(modifier: object) -> float | None:
    """Return the seconds since 1970, to the millisecond.

    >>> seconds("subsec") == round(seconds("subsec"), 3), seconds("tomorrow")
    (True, None)
    """
    return round(time.time(), 3) if modifier == "subsec" else None
