"""Failures of `sqlite3`: only those of a locked database or table are transient.

SQLite reports a lock by the result codes `SQLITE_BUSY` and `SQLITE_LOCKED` and their extended ones,
such as `SQLITE_BUSY_SNAPSHOT`. The transaction has not been carried out: a COMMIT that finds the
database locked leaves it open. See "Result and Error Codes" in SQLite's documentation.
"""

from __future__ import annotations

from typing import Any

from .._words.verdicts import Verdict
from .judging import permanent

SQLITE_BUSY = 5
SQLITE_LOCKED = 6
PRIMARY = 0xFF  # an extended code has the primary one in its last byte


def judge(failure: Any) -> Verdict:
    code = getattr(failure, "sqlite_errorcode", None)
    if isinstance(code, int) and code & PRIMARY in (SQLITE_BUSY, SQLITE_LOCKED):
        return Verdict(True)
    return permanent(failure)
