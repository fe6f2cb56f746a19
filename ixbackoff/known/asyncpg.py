"""Failures of asyncpg, judged by their SQLSTATE (see `sqlstates`).

If asyncpg cannot connect, it mostly raises Python's own `ConnectionRefusedError` or `TimeoutError`,
which are transient, too.

asyncpg commits each statement outside of `connection.transaction()` by itself. So there are two
cases of a connection that is lost in the middle of an operation, and asyncpg tells them apart:

- Inside a transaction: an `InterfaceError`, because leaving the transaction finds the connection
  closed. The transaction was rolled back, so the failure is transient.
- Outside of one, and in a COMMIT: a `ConnectionDoesNotExistError`. The statement may have been
  carried out, so the failure is permanent. To retry, read inside a transaction, or pass `on=...`.
"""

from __future__ import annotations

from typing import Any

from .._words.verdicts import Verdict
from .judging import bases, permanent
from .sqlstates import is_lost, is_transient
from .tracebacks import through

CLOSED = "connection is closed"
CANNOT_CONNECT = ("08001", "08004")
NO_PRIMARY_YET = "TargetServerAttributeNotMatched"  # while another server takes over


def judge(failure: Any) -> Verdict:
    """Judge a failure of asyncpg by its SQLSTATE, or by its class if it has none."""
    sqlstate = getattr(failure, "sqlstate", None)
    if sqlstate is None:
        closed = "InterfaceError" in bases(failure) and CLOSED in str(failure)
        transient = closed or NO_PRIMARY_YET in bases(failure)
        return Verdict(True) if transient else permanent(failure)
    if not is_transient(sqlstate):
        return permanent(failure, f" (SQLSTATE {sqlstate})")
    if not is_lost(sqlstate) or sqlstate in CANNOT_CONNECT:
        return Verdict(True)
    if through(failure, "asyncpg.connect_utils"):
        return Verdict(True)
    return permanent(failure, " in a statement, which may have been carried out")
