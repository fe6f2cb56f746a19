"""Failures of drivers that report numbers or classes of their own: one table for all of them.

- MySQL: a lost connection rolls back its transaction, unless it was lost in a COMMIT.
- asyncpg: a statement outside of `connection.transaction()` is committed at once. If the connection
  is lost there, or in a COMMIT, `ConnectionDoesNotExistError` is raised, and the statement may have
  been carried out. If the connection is lost inside a transaction, `InterfaceError` is raised.
- redis-py itself repeats a command after a `ConnectionError` or `TimeoutError`, even if the command
  had been sent, so both are transient. A full pool is transient, too, although redis-py does not
  retry. Wrong passwords and unknown hosts, which are `ConnectionError`s there, are permanent.
- SQLite's extended codes have the primary code in the last byte. A COMMIT that finds the database
  locked leaves the transaction open (see "Transaction" in SQLite's documentation).
- FTP: after a reply of 400 to 499, the action did not take place (RFC 959, section 4.2).
- SMTP: a client treats a lost connection as a reply of 451 (RFC 5321, section 3.8). The reply to
  `QUIT` arrives after a `with` block, so a failed `QUIT` is no reason to repeat the block.

All other failures are judged by their shape.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .._words import judging
from .._words.judging import Judge, Verdict, always_transient
from . import shapes
from .http_statuses import answered, reason_to_stop
from .judge_helpers import bases, permanent, through, transient_if, variables
from .psycopg import is_lost, is_transient
from .unreachable import misaddressed, unreachable_by_text

NEVER_RUN = {1040, 1205, 1213, 2002, 2003}  # too many connections, a lock, a deadlock, no server
LOST = {2006, 2013, 2055}
REJECTED = {202, 252}  # ClickHouse runs too many queries, or has too many parts for an insert
UNREACHED = {-195, -187}  # librdkafka has lost a broker, or all of them
FORCED = {320, 506, 541}  # a broker of AMQP stops, lacks resources, or fails
LOCKED = {5, 6}  # SQLITE_BUSY, SQLITE_LOCKED
STATUS = re.compile(r"HTTP status ([0-9]{3})|response code ([0-9]{3})")
PUBLISHES = "basic_publish", "publish"
CANNOT_CONNECT = ("08001", "08004")
NO_PRIMARY_YET = "TargetServerAttributeNotMatched"  # while another server takes over
NOT_LOCKED = "Unable to acquire lock within the time specified"  # of redis-py
REDIS_ANSWERS = {"BUSY", "NOREPLICAS"}  # first words of answers for which redis-py has no class
LEAVING = {("smtplib", "__exit__")}


def by_mysql_number(failure: Any) -> Verdict:
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


def by_asyncpg_sqlstate(failure: Any) -> Verdict:
    sqlstate = getattr(failure, "sqlstate", None)
    if sqlstate is None:
        closed = "InterfaceError" in bases(failure) and "connection is closed" in str(failure)
        transient = closed or NO_PRIMARY_YET in bases(failure)
        return Verdict(True) if transient else permanent(failure)
    if not is_transient(sqlstate):
        return permanent(failure, f" (SQLSTATE {sqlstate})")
    if not is_lost(sqlstate) or sqlstate in CANNOT_CONNECT:
        return Verdict(True)
    if through(failure, "asyncpg.connect_utils"):
        return Verdict(True)
    return permanent(failure, " in a statement, which may have been carried out")


def by_amqp(failure: Any) -> Verdict:
    if reason := reason_to_stop(failure):
        return permanent(failure, f": {reason}")
    if any(through(failure, package, *PUBLISHES) for package in ("pika", "aiormq", "aio_pika")):
        return permanent(failure, " in a publish, which may have been carried out")
    return Verdict(True)


def by_amqp_reply(failure: Any) -> Verdict:
    code = getattr(failure, "reply_code", None)
    return by_amqp(failure) if code in FORCED else permanent(failure, f" {code}")


@transient_if
def by_kafka_error(failure: Any) -> bool:
    error: Any = next(iter(failure.args), None)
    return hasattr(error, "retriable") and (error.retriable() or error.code() in UNREACHED)


def by_neo4j_error(failure: Any) -> Verdict:
    if not failure.is_retryable():
        return permanent(failure)
    run = any(through(failure, f"neo4j.{kind}.work.session", "run") for kind in ("_sync", "_async"))
    if run and not through(failure, "neo4j", "_connect"):
        return permanent(failure, " in session.run, whose query may have been carried out")
    return Verdict(True)


def by_clickhouse_text(failure: Any) -> Verdict:
    found = STATUS.search(str(failure))
    if getattr(failure, "code", None) in REJECTED:
        return Verdict(True)
    return (
        answered(failure, int(found[1] or found[2]), None, ()) if found else shapes.judge(failure)
    )


def by_reaching_redis(failure: Any) -> Verdict:
    reason = misaddressed(failure)
    return permanent(failure, f": {reason}") if reason else Verdict(True)


def by_redis_nodes(failure: Any) -> Verdict:
    text, last = str(failure), failure.__cause__ or failure.__context__  # the last node's failure
    unreached = "Redis Cluster cannot be connected" in text
    if unreached and last is not None:
        return judge(last)
    uncovered = text.startswith("All slots are not covered")
    return Verdict(True) if unreached or uncovered else permanent(failure)


@transient_if
def by_sqlite_code(failure: Any) -> bool:
    code = getattr(failure, "sqlite_errorcode", None)
    return isinstance(code, int) and code & 0xFF in LOCKED


def by_ftp_reply(failure: Any) -> Verdict:
    code = str(failure)[:3]
    return permanent(failure, f" {code}") if code.isdigit() else permanent(failure)


def by_mail_server(failure: Exception) -> Verdict:
    for found in variables(failure, LEAVING):
        return after_quit(failure, found.get("args"))
    if "SMTPServerDisconnected" in bases(failure):
        if str(failure) == "please run connect() first":
            return permanent(failure, ": connect anew in each try")
        return Verdict(True)
    codes = [code for code in codes_of(failure) if isinstance(code, int)]
    # No mail was sent to anyone, so one recipient with a transient refusal is worth another try.
    if any(400 <= code <= 499 for code in codes):
        return Verdict(True)
    shown = "".join(sorted({f" {code}" for code in codes}))
    return permanent(failure, shown) if shown else permanent(failure)


def after_quit(failure: Exception, left_with: Any) -> Verdict:
    """Judge a reply to `QUIT` by the failure with which the block was left, if there was one."""
    for cause in left_with or ():
        if isinstance(cause, Exception):
            return judging.judge(cause)
    return permanent(failure, " after QUIT, when all had been done")


def codes_of(failure: Exception) -> Iterable[object]:
    recipients: Any = getattr(failure, "recipients", None)
    if not hasattr(recipients, "values"):
        return [getattr(failure, "smtp_code", None)]
    replies: Iterable[Any] = recipients.values()
    return [reply[0] for reply in replies if hasattr(reply, "__getitem__")]


def with_status(status: int) -> Judge:
    return lambda failure: answered(failure, status, None, shapes.requests_of(failure))


def by_plain_timeout(failure: Any) -> Verdict:
    if through(failure, "databricks.sdk.retries"):
        return permanent(failure, " after the retries of databricks, which take minutes")
    return Verdict(True)


MYSQL: Mapping[str, Judge] = {"MySQLError": by_mysql_number, "Error": by_mysql_number}
# Classes of AMQP: refusals, and errors of the protocol or of its use.
NEVER_AGAIN = (
    *("AuthenticationError", "ConnectionChannelError", "ConnectionClosedByClient"),
    *("ConnectionCommandInvalid", "ConnectionFrameError", "ConnectionNotAllowed"),
    *("ConnectionNotImplemented", "ConnectionSyntaxError", "ConnectionUnexpectedFrame"),
    *("ConnectionWrongStateError", "IncompatibleProtocolError", "NoFreeChannels"),
    *("ProbableAccessDeniedError", "ProbableAuthenticationError"),
)

AMQP: dict[str, Judge] = {"AMQPConnectionError": by_amqp, **dict.fromkeys(NEVER_AGAIN, permanent)}
# The judges, by the package and the name of the nearest base class of a failure.
TABLES: Mapping[str, Mapping[str, Judge]] = {
    "aiormq": AMQP,
    "asyncpg": dict.fromkeys(
        ("PostgresError", "InterfaceError", "InternalClientError"), by_asyncpg_sqlstate
    ),
    "builtins": {"TimeoutError": by_plain_timeout},
    "cimpl": {"KafkaException": by_kafka_error},  # of confluent_kafka
    "clickhouse_connect": {"Error": by_clickhouse_text},
    "ftplib": {"error_temp": always_transient, "Error": by_ftp_reply},
    "hvac": {
        "RateLimitExceeded": with_status(429),
        "InternalServerError": with_status(500),
        "BadGateway": with_status(502),
        "VaultDown": with_status(503),
        "VaultError": permanent,
    },
    "MySQLdb": MYSQL,
    "mysql": MYSQL,
    "neo4j": {"Neo4jError": by_neo4j_error, "DriverError": by_neo4j_error},
    "paramiko": {"NoValidConnectionsError": always_transient, "AuthenticationException": permanent},
    "pika": AMQP | {"AMQPConnectorStackTimeout": by_amqp, "ConnectionClosed": by_amqp_reply},
    "pymysql": MYSQL,
    "redis": {
        **dict.fromkeys(("AuthenticationError", "AuthorizationError"), permanent),
        **dict.fromkeys(("ExternalAuthProviderError", "ChildDeadlockedError"), permanent),
        "IncorrectPolicyType": permanent,
        **dict.fromkeys(("ConnectionError", "TimeoutError"), by_reaching_redis),
        **dict.fromkeys(("ClusterError", "ReadOnlyError", "SlotNotCoveredError"), always_transient),
        **dict.fromkeys(("TemporaryUnavailableException", "TryAgainError"), always_transient),
        "WatchError": always_transient,
        "RedisClusterException": by_redis_nodes,
        "ResponseError": transient_if(lambda failure: str(failure).split(" ")[0] in REDIS_ANSWERS),
        "LockError": transient_if(lambda failure: str(failure) == NOT_LOCKED),
        "RedisError": permanent,
    },
    "smtplib": {"SMTPException": by_mail_server},
    "sqlite3": {"Error": by_sqlite_code},
}


def judge(failure: Exception) -> Verdict:
    for base in failure.__class__.__mro__:
        rule = TABLES.get(base.__module__.partition(".")[0], {}).get(base.__name__)
        if rule is not None:
            return rule(failure)
    return shapes.judge(failure)
