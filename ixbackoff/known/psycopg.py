"""Failures of psycopg 3, judged by their SQLSTATE (see `sqlstates`), and of psycopg-pool.

Failures without a SQLSTATE are those of the connection, and only their text tells them apart:
libpq, which connects, gives no SQLSTATE. A server that was not reached, or closed the connection,
may be well later; one that answered with a refusal (wrong password, no such database) says the same
again, unless it says that it is starting or full. These texts are the English ones: a refusal in
another language does not pass.

A connection that is lost rolls back its transaction, so it is worth another try; psycopg works in
transactions, unless `autocommit` is set, which a failure does not tell. But when the answer to a
COMMIT is lost, the transaction may have been carried out: such a failure does not pass. What was
being done is told by its traceback. A COMMIT that is written as a statement of one's own is not
recognized.
"""

from __future__ import annotations

import re
from typing import Any

from .._words.verdicts import Verdict
from .kinds import refused
from .sqlstates import is_lost, is_transient
from .tracebacks import through

SERVER_SAYS = re.compile(r": \w+:  ")
"""Between what libpq says and what the server does: its severity, and two spaces."""

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
    """Judge a failure of psycopg by its SQLSTATE, or by its text if it has none."""
    sqlstate = getattr(failure, "sqlstate", None)
    if sqlstate is None:
        return judge_by_text(failure)
    if not is_transient(sqlstate):
        return refused(failure, f" (SQLSTATE {sqlstate})")
    return unresolved(failure) if is_lost(sqlstate) else Verdict(True)


def judge_by_text(failure: Any) -> Verdict:
    """Judge a failure of the connection."""
    text = str(failure)
    if is_refused(failure):
        return refused(failure, ": the server refused the connection")
    passes = SERVER_SAYS.search(text) is not None
    return (
        Verdict(True) if passes else unresolved(failure) if AWAY.search(text) else refused(failure)
    )


def is_refused(failure: Exception) -> bool:
    """Return whether a server refused a connection for a reason that does not pass by itself.

    A wrong password is one, and a database that is not there.
    """
    text = str(failure)
    if getattr(failure, "sqlstate", None) is not None or not SERVER_SAYS.search(text):
        return False
    return SERVER_MAY_PASS.search(text) is None


def unresolved(failure: Exception) -> Verdict:
    """Judge a connection that was lost, by what was being done."""
    if through(failure, "psycopg", "_commit_gen"):
        return refused(failure, " in a COMMIT, which may have been carried out")
    return Verdict(True)
