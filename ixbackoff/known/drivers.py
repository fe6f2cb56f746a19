"""Failures of drivers that report numbers or classes of their own: one table for all of them.

- MySQL (pymysql, aiomysql, mysqlclient, mysql.connector), by its error numbers. A connection that
  is lost rolls back its transaction, unless it was lost in a COMMIT, as in `psycopg`.
- AMQP (pika, aiormq, aio-pika): a connection that was lost, unless a message was being published.
- Kafka and Neo4j, whose drivers tell which failures are worth another try.
- Vault and ClickHouse, whose clients turn a status into a class or a text.
- SQLite reports a lock by `SQLITE_BUSY`, `SQLITE_LOCKED` and their extended codes, which have the
  primary one in the last byte. The transaction has not been carried out: a COMMIT that finds the
  database locked leaves it open (see "Result and Error Codes" in SQLite's documentation).
- FTP: after a reply of 400 to 499, the action did not take place (RFC 959, section 4.2.1).
- paramiko: a host that no connection reached. databricks: a `TimeoutError` after its own retries.

All other failures are judged by their shape.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .._words.verdicts import Judge, Verdict, always_transient
from . import shapes
from .judging import permanent
from .reaching import unreachable_by_text
from .resending import answered, reason_to_stop
from .tracebacks import through

NEVER_RUN = {1040, 1205, 1213, 2002, 2003}
"""Too many connections, a lock, a deadlock, no server at the socket or the port."""

LOST = {2006, 2013, 2055}
REJECTED = {202, 252}
"""ClickHouse runs too many queries, or has too many parts to take another insert."""

UNREACHED = {-195, -187}
"""librdkafka has lost a broker, or all of them."""

FORCED = {320, 506, 541}
"""A broker of AMQP stops, or lacks resources."""

LOCKED = {5, 6}  # SQLITE_BUSY, SQLITE_LOCKED
STATUS = re.compile(r"HTTP status ([0-9]{3})|response code ([0-9]{3})")
PUBLISHES = "basic_publish", "publish"


def by_number(failure: Any) -> Verdict:
    """Judge a failure of MySQL by its number."""
    number = getattr(failure, "errno", None) or next(iter(failure.args), None)
    reason = unreachable_by_text(str(failure))
    if number in NEVER_RUN and not reason:
        return Verdict(True)
    if number in LOST:
        # mysqlclient's COMMIT is written in C, and has no frame
        driver = failure.__class__.__module__.partition(".")[0]
        if through(failure, driver, "commit") or not through(failure, driver):
            return permanent(failure, " in a COMMIT, which may have been carried out")
        return Verdict(True)
    return permanent(failure, f": {reason}" if reason else f" {number}")


def by_connection(failure: Any) -> Verdict:
    """Judge a connection of AMQP that was lost, or not made."""
    if reason := reason_to_stop(failure):
        return permanent(failure, f": {reason}")
    if any(through(failure, package, *PUBLISHES) for package in ("pika", "aiormq", "aio_pika")):
        return permanent(failure, " in a publish, which may have been carried out")
    return Verdict(True)


def by_reply(failure: Any) -> Verdict:
    """Judge a connection that the broker closed, by its reply."""
    code = getattr(failure, "reply_code", None)
    return by_connection(failure) if code in FORCED else permanent(failure, f" {code}")


def by_broker(failure: Any) -> Verdict:
    """Judge a failure of librdkafka."""
    error: Any = next(iter(failure.args), None)
    if hasattr(error, "retriable") and (error.retriable() or error.code() in UNREACHED):
        return Verdict(True)
    return permanent(failure)


def by_driver(failure: Any) -> Verdict:
    """Judge a failure of Neo4j; a query outside of a transaction may have been carried out."""
    if not failure.is_retryable():
        return permanent(failure)
    run = any(through(failure, f"neo4j.{kind}.work.session", "run") for kind in ("_sync", "_async"))
    if run and not through(failure, "neo4j", "_connect"):
        return permanent(failure, " outside of a transaction, which may have been carried out")
    return Verdict(True)


def by_text(failure: Any) -> Verdict:
    """Judge a failure of ClickHouse by the server's code, or by the status in its text."""
    found = STATUS.search(str(failure))
    if getattr(failure, "code", None) in REJECTED:
        return Verdict(True)
    return (
        answered(failure, int(found[1] or found[2]), None, ()) if found else shapes.judge(failure)
    )


def by_lock(failure: Any) -> Verdict:
    """Judge a failure of SQLite."""
    code = getattr(failure, "sqlite_errorcode", None)
    locked = isinstance(code, int) and code & 0xFF in LOCKED
    return Verdict(True) if locked else permanent(failure)


def by_code(failure: Any) -> Verdict:
    """Judge a permanent reply of an FTP server, if it is one."""
    code = str(failure)[:3]
    return permanent(failure, f" {code}") if code.isdigit() else permanent(failure)


def with_status(status: int) -> Judge:
    return lambda failure: answered(failure, status, None, shapes.requests_of(failure))


def after_retries(failure: Any) -> Verdict:
    if through(failure, "databricks.sdk.retries"):
        return permanent(failure, " after the retries of databricks, which take minutes")
    return Verdict(True)


MYSQL: Mapping[str, Judge] = {"MySQLError": by_number, "Error": by_number}
NEVER_AGAIN = (
    *("AuthenticationError", "ConnectionChannelError", "ConnectionClosedByClient"),
    *("ConnectionCommandInvalid", "ConnectionFrameError", "ConnectionNotAllowed"),
    *("ConnectionNotImplemented", "ConnectionSyntaxError", "ConnectionUnexpectedFrame"),
    *("ConnectionWrongStateError", "IncompatibleProtocolError", "NoFreeChannels"),
    *("ProbableAccessDeniedError", "ProbableAuthenticationError"),
)
"""Classes of AMQP: refusals, and errors of the protocol or of its use."""

AMQP: dict[str, Judge] = {
    "AMQPConnectionError": by_connection,
    **dict.fromkeys(NEVER_AGAIN, permanent),
}
TABLES: Mapping[str, Mapping[str, Judge]] = {
    "aiormq": AMQP,
    "builtins": {"TimeoutError": after_retries},
    "cimpl": {"KafkaException": by_broker},  # of confluent_kafka
    "clickhouse_connect": {"Error": by_text},
    "ftplib": {"error_temp": always_transient, "Error": by_code},
    "hvac": {
        "RateLimitExceeded": with_status(429),
        "InternalServerError": with_status(500),
        "BadGateway": with_status(502),
        "VaultDown": with_status(503),
        "VaultError": permanent,
    },
    "MySQLdb": MYSQL,
    "mysql": MYSQL,
    "neo4j": {"Neo4jError": by_driver, "DriverError": by_driver},
    "paramiko": {"NoValidConnectionsError": always_transient, "AuthenticationException": permanent},
    "pika": AMQP | {"AMQPConnectorStackTimeout": by_connection, "ConnectionClosed": by_reply},
    "pymysql": MYSQL,
    "sqlite3": {"Error": by_lock},
}
"""The judges, by the package and the name of the nearest base class of a failure."""


def judge(failure: Exception) -> Verdict:
    """Judge a failure of a driver by the nearest of its classes in the tables."""
    for base in failure.__class__.__mro__:
        judging = TABLES.get(base.__module__.partition(".")[0], {}).get(base.__name__)
        if judging is not None:
            return judging(failure)
    return shapes.judge(failure)
