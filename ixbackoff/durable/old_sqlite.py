"""A function that DBOS needs and SQLite lacks before version 3.42: the time to the millisecond.

DBOS calls `unixepoch('subsec')` on Python 3.12 and later. In SQLite 3.40, as in Debian 12 and in
images that are built on it, that call returns NULL.
"""

from __future__ import annotations

import sqlite3
import time
from typing import Any

FIRST = (3, 42)


def add_unixepoch(connection: Any, _record: object = None) -> None:
    """Define `unixepoch('subsec')` in a new connection, if its SQLite does not have it.

    SQLAlchemy passes two arguments to a listener. Connections of other drivers stay as they are.
    """
    if isinstance(connection, sqlite3.Connection) and sqlite3.sqlite_version_info < FIRST:
        connection.create_function("unixepoch", 1, unixepoch)


def unixepoch(modifier: object) -> float | None:
    """Return the seconds since 1970, to the millisecond; `None` for another modifier."""
    return round(time.time(), 3) if modifier == "subsec" else None
