"""What two connections of a real PostgreSQL server do to each other."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Thread
from typing import LiteralString, NamedTuple

import psycopg

from .proxies import AFTER, BEFORE

TABLE: list[LiteralString] = [
    "DROP TABLE IF EXISTS nuts",
    "CREATE TABLE nuts (name text PRIMARY KEY, number int)",
    "INSERT INTO nuts VALUES ('acorn', 0), ('walnut', 0)",
]
ADD_ONE: LiteralString = "UPDATE nuts SET number = number + 1"
ACORN: LiteralString = "SELECT name FROM nuts WHERE name = 'acorn' FOR UPDATE"
WALNUT: LiteralString = "SELECT name FROM nuts WHERE name = 'walnut' FOR UPDATE"
WAITING: LiteralString = (
    "SELECT FROM pg_stat_activity WHERE application_name = 'rival' AND wait_event_type = 'Lock'"
)


class Trouble(NamedTuple):
    """Statements by which a rival makes the last statement of a transaction of ours fail.

    Attributes:
        sqlstate: how it fails.
        first: what we say first.
        rival: what the rival says then.
        last: what we say last, which fails.
        blocked: what the rival says before that, and has to wait for us.
    """

    sqlstate: str
    first: list[LiteralString]
    rival: list[LiteralString]
    last: LiteralString
    blocked: LiteralString | None = None


TROUBLES = {
    "outrun": Trouble(
        "40001",
        ["SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "SELECT name FROM nuts"],
        [ADD_ONE],
        ADD_ONE,
    ),
    "deadlocked": Trouble(
        "40P01",
        ["SET LOCAL deadlock_timeout = '5ms'", ACORN],
        ["SET deadlock_timeout = '10s'", "BEGIN", WALNUT],
        WALNUT,
        blocked=ACORN,
    ),
    "locked": Trouble("55P03", [], ["BEGIN", ACORN], f"{ACORN} NOWAIT"),
    "locked for long": Trouble(
        "55P03", ["SET LOCAL lock_timeout = '5ms'"], ["BEGIN", ACORN], ACORN
    ),
    "terminated": Trouble(
        "57P01",
        ["SET application_name = 'terminated'"],
        [
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE application_name = 'terminated'"
        ],
        "SELECT 1",
    ),
}

CUTS = [
    (b"", BEFORE, 4, 0),
    (b"UPDATE", BEFORE, 4, 0),
    (b"UPDATE", AFTER, 4, 0),
    (b"COMMIT", AFTER, 1, 1),
]
"""Where a connection is cut off in a transaction that adds one: at which word, before or after the
server hears it; how often the transaction is tried, and what the number is then."""


@contextmanager
def rival(url: str) -> Generator[Callable[[Trouble], None]]:
    """Connect a rival, whose part in a trouble is played when it is called with it.

    Leave this after the connection that is in trouble: a blocked rival waits for that one's end.
    """
    waiting: list[Thread] = []
    with psycopg.connect(url, autocommit=True, application_name="rival") as connection:

        def plays(trouble: Trouble) -> None:
            for statement in trouble.rival:
                connection.execute(statement)
            if trouble.blocked:
                waiting.append(Thread(target=connection.execute, args=[trouble.blocked]))
                waiting[-1].start()
                await_blocked(url)

        try:
            yield plays
        finally:
            for thread in waiting:
                thread.join()


def await_blocked(url: str) -> None:
    """Wait until the rival waits for a lock."""
    with psycopg.connect(url, autocommit=True) as observer:
        while not observer.execute(WAITING).fetchall():
            time.sleep(0.001)


@contextmanager
def full(url: str) -> Generator[None]:
    """Take all connections that the server has left."""
    taken: list[psycopg.Connection[tuple[object, ...]]] = []
    try:
        while True:
            try:
                taken.append(psycopg.connect(url))
            except psycopg.OperationalError:
                break
        yield
    finally:
        for connection in taken:
            connection.close()


def make_table(url: str) -> None:
    """Make the table of nuts anew."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in TABLE:
            connection.execute(statement)


def counted(url: str) -> int:
    """Return how often one was added to the number of acorns."""
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT number FROM nuts WHERE name = 'acorn'").fetchone()
    assert row is not None
    return int(row[0])
