"""Failures of psycopg 3, judged by their SQLSTATE, and of psycopg-pool.

"PostgreSQL Error Codes", appendix A of its documentation, has the meanings of SQLSTATEs. 08007 and
40003 leave open whether the transaction was carried out.

libpq gives no SQLSTATE for a failure of the connection, so its text decides. A refusal by the
server itself, such as of a wrong password, is permanent, unless the server starts, stops or is
full. Texts in `AWAY`, such as "Connection refused", are transient. Only English texts are known, so
a failure in another language is permanent.

A lost connection rolls back its transaction. But if the answer to a COMMIT is lost, as the
traceback shows, the transaction may have been carried out.
"""

from __future__ import annotations

import re
from typing import Any

from .._words.judging import Verdict
from .judge_helpers import permanent, through

TRANSIENT_CLASSES = ("08", "53")
TRANSIENT = ("40000", "40001", "40P01", "55P03", "57P01", "57P02", "57P03", "57P05")
UNRESOLVED = ("08007", "40003")
LOST = ("57P01", "57P02")

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


def is_transient(sqlstate: str) -> bool:
    """Return whether a failure with this SQLSTATE may pass by itself."""
    if sqlstate in UNRESOLVED:
        return False
    return sqlstate in TRANSIENT or sqlstate[:2] in TRANSIENT_CLASSES


def is_lost(sqlstate: str) -> bool:
    """Return whether the connection was lost; a statement may then have been carried out."""
    return sqlstate in LOST or sqlstate[:2] == "08"
