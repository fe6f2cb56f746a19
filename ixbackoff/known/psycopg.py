"""Failures of psycopg 3, judged by their SQLSTATE (see `sqlstates`), and of psycopg-pool.

Failures without a SQLSTATE are failures of the connection, and only their text tells them apart:
libpq, which connects, gives no SQLSTATE. A server that was not reached, or closed the connection,
may answer later; one that refused the connection (wrong password, no such database) will refuse it
again, unless it is starting or full. Only English texts are known: a refusal in another language
is a permanent failure.

If a connection is lost, its transaction is rolled back, so the failure is transient; psycopg works
in transactions, unless `autocommit` is set, which a failure does not show. But if the answer to a
COMMIT is lost, the transaction may have been carried out: such a failure, recognized by its
traceback, is permanent. A COMMIT that the program sends as a statement is not recognized.
"""

from __future__ import annotations

import re
from typing import Any

from .._words.verdicts import Verdict
from .judging import permanent
from .sqlstates import is_lost, is_transient
from .tracebacks import through

SERVER_SAYS = re.compile(r": \w+:  ")
"""The severity and two spaces, which precede the server's own message in a text of libpq."""

SERVER_MAY_PASS = re.compile(
    "too many clients|too many connections|connection slots are reserved"
    "|is starting up|is shutting down|in recovery mode|not yet accepting connections"
)
AWAY = re.compile(
    "Connection refused|Is the server running|timeout expired|Connection timed out"
    "|Network is unreachable|No route to host|Temporary failure in name resolution"
    "|server closed the connection|connection has been closed unexpectedly|EOF detected"
    "|Connection reset by peer|Broken pipe|the connection is (lost|closed)"
    "|couldn't get a connection|requests waiting"  # from psycopg-pool
)


def judge(failure: Any) -> Verdict:
    sqlstate = getattr(failure, "sqlstate", None)
    if sqlstate is None:
        return judge_by_text(failure)
    if not is_transient(sqlstate):
        return permanent(failure, f" (SQLSTATE {sqlstate})")
    return judge_lost(failure) if is_lost(sqlstate) else Verdict(True)


def judge_by_text(failure: Any) -> Verdict:
    text = str(failure)
    if is_refused(failure):
        return permanent(failure, ": the server refused the connection")
    if SERVER_SAYS.search(text):
        return Verdict(True)
    return judge_lost(failure) if AWAY.search(text) else permanent(failure)


def is_refused(failure: Exception) -> bool:
    """Return whether a server refused a connection for good: wrong password, no such database."""
    text = str(failure)
    if getattr(failure, "sqlstate", None) is not None or not SERVER_SAYS.search(text):
        return False
    return SERVER_MAY_PASS.search(text) is None


def judge_lost(failure: Exception) -> Verdict:
    if through(failure, "psycopg", "_commit_gen"):
        return permanent(failure, " in a COMMIT, which may have been carried out")
    return Verdict(True)
