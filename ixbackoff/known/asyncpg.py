"""Failures of asyncpg, judged by their SQLSTATE (see `sqlstates`).

What asyncpg raises when it cannot connect are mostly Python's own `ConnectionRefusedError` and
`TimeoutError`, which may pass, too.

asyncpg commits each statement that stands outside of `connection.transaction()` by itself. So a
connection that is lost in the middle of an operation leaves two cases, and asyncpg tells them
apart:

- Inside a transaction, leaving it finds the connection closed, which is an `InterfaceError`. It was
  rolled back, and may pass.
- Outside of one, and in a COMMIT, it is a `ConnectionDoesNotExistError`. The statement may have
  been carried out, so it does not pass. Read inside a transaction, or say `on=...`, to try again.
"""

from __future__ import annotations

from typing import Any

from .._words.verdicts import Verdict
from .kinds import bases, refused
from .sqlstates import is_lost, is_transient
from .tracebacks import through

CLOSED = "connection is closed"
CANNOT_CONNECT = ("08001", "08004")
NO_PRIMARY_YET = "TargetServerAttributeNotMatched"  # while another server takes over


def judge(failure: Any) -> Verdict:
    """Judge a failure of asyncpg by its SQLSTATE, or by what it is if it has none."""
    sqlstate = getattr(failure, "sqlstate", None)
    if sqlstate is None:
        closed = "InterfaceError" in bases(failure) and CLOSED in str(failure)
        passes = closed or NO_PRIMARY_YET in bases(failure)
        return Verdict(True) if passes else refused(failure)
    if not is_transient(sqlstate):
        return refused(failure, f" (SQLSTATE {sqlstate})")
    if not is_lost(sqlstate) or sqlstate in CANNOT_CONNECT:
        return Verdict(True)
    if through(failure, "asyncpg.connect_utils"):
        return Verdict(True)
    return refused(failure, " in a statement, which may have been carried out")
