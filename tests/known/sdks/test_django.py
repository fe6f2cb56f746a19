"""Failures of Django's ORM, which wraps those of the driver: over SQLite and over PostgreSQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django
import pytest
from django.conf import settings
from django.db import connections, transaction

from ...support.clients.tries import tried
from ...support.servers.ports import free_port
from ...support.servers.postgresql import PASSWORD, USER, Server

POSTGRESQL = "django.db.backends.postgresql"


settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "x"}})
django.setup()


@pytest.fixture
def database() -> Iterator[Any]:
    """Return a function that opens a database under a name."""

    def opened(engine: str, **given: Any) -> Any:
        settings.DATABASES["used"] = {"ENGINE": engine, **given}
        connections.settings = connections.configure_settings(settings.DATABASES)
        return connections["used"]

    yield opened
    connections["used"].close()
    del connections["used"]


def run(connection: Any, statement: str) -> None:
    with transaction.atomic(using="used"), connection.cursor() as cursor:
        cursor.execute(statement)


def test_a_locked_database(database: Any, tmp_path: Path) -> None:
    path = tmp_path / "nuts.db"
    connection = database("django.db.backends.sqlite3", NAME=str(path), OPTIONS={"timeout": 0})
    run(connection, "CREATE TABLE hoard (n INT)")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    assert tried(lambda: run(connection, "INSERT INTO hoard VALUES (1)")).tries == 4
    holder.close()
    missing = tried(lambda: run(connection, "SELECT * FROM missing"))
    assert missing.tries == 1
    assert missing.why.startswith("django.db.utils.OperationalError: sqlite3.OperationalError")


def test_no_server(database: Any) -> None:
    connection = database(POSTGRESQL, NAME="nuts", HOST="127.0.0.1", PORT=free_port())
    assert tried(lambda: run(connection, "SELECT 1")).tries == 4


def test_a_connection_that_is_lost(database: Any, postgresql: Server) -> None:
    connection = database(
        POSTGRESQL,
        NAME="postgres",
        HOST="127.0.0.1",
        PORT=postgresql.port,
        USER=USER,
        PASSWORD=PASSWORD,
    )

    def in_transaction() -> None:
        connection.close()
        run(connection, "SELECT pg_terminate_backend(pg_backend_pid())")

    deadlock = "DO $$ BEGIN RAISE deadlock_detected; END $$"
    assert tried(lambda: run(connection, deadlock)).tries == 4
    assert tried(lambda: run(connection, "SELECT * FROM missing")).tries == 1
    assert tried(in_transaction).tries == 4

    def in_commit() -> None:
        connection.close()
        with transaction.atomic(using="used"), connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            other = connection.copy("other")
            with other.cursor() as killer:
                pid = connection.connection.info.backend_pid
                killer.execute("SELECT pg_terminate_backend(%s)", [pid])
            other.close()

    ended = tried(in_commit)
    assert ended.tries == 1
    assert ended.why.endswith(" in a COMMIT, which may have been carried out")
