"""Failures of sqlite3, from a real database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path

import pytest

from ..support.clients.tries import tried


@pytest.fixture
def path(tmp_path: Path) -> str:
    name = str(tmp_path / "nuts.db")
    with closing(sqlite3.connect(name)) as connection:
        connection.execute("CREATE TABLE nuts (name TEXT PRIMARY KEY)")
        connection.execute("INSERT INTO nuts VALUES ('acorn')")
        connection.commit()
    return name


@pytest.fixture
def holder(path: str) -> Generator[sqlite3.Connection]:
    """A connection that holds the lock of the database."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield connection


def executing(path: str, statement: str) -> Callable[[], object]:
    def work() -> None:
        with closing(sqlite3.connect(path, timeout=0)) as connection, connection:
            connection.execute(statement)

    return work


@pytest.mark.parametrize("statement", ["INSERT INTO nuts VALUES ('walnut')", "SELECT * FROM nuts"])
def test_a_locked_database_is_tried_again(
    path: str, holder: sqlite3.Connection, statement: str
) -> None:
    result = tried(executing(path, statement))
    assert (result.tries, str(result.failure)) == (4, "database is locked")


def test_a_commit_that_finds_a_reader_is_tried_again(path: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM nuts").fetchall()
        assert tried(executing(path, "INSERT INTO nuts VALUES ('walnut')")).tries == 4
        assert reader.execute("SELECT count(*) FROM nuts").fetchone() == (1,)


def test_an_outdated_snapshot_is_tried_again(path: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as rival:
        rival.execute("PRAGMA journal_mode = WAL")

        def work() -> None:
            with closing(sqlite3.connect(path, timeout=0)) as connection:
                connection.execute("BEGIN")
                connection.execute("SELECT * FROM nuts").fetchall()
                rival.execute("DELETE FROM nuts")
                connection.execute("INSERT INTO nuts VALUES ('walnut')")

        result = tried(work)
    assert result.tries == 4
    assert isinstance(result.failure, sqlite3.OperationalError)
    assert result.failure.sqlite_errorname == "SQLITE_BUSY_SNAPSHOT"


def test_a_locked_table_is_tried_again() -> None:
    shared = "file:nuts?mode=memory&cache=shared"
    with closing(sqlite3.connect(shared, uri=True, isolation_level=None)) as holder:
        holder.execute("CREATE TABLE nuts (name TEXT)")
        holder.execute("BEGIN")
        holder.execute("INSERT INTO nuts VALUES ('acorn')")

        def work() -> None:
            with closing(sqlite3.connect(shared, uri=True, timeout=0)) as connection:
                connection.execute("SELECT * FROM nuts").fetchall()

        result = tried(work)
    assert (result.tries, str(result.failure)) == (4, "database table is locked: nuts")


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("SELEC", "OperationalError"),
        ("SELECT * FROM missing", "OperationalError"),
        ("INSERT INTO nuts VALUES ('acorn')", "IntegrityError"),
        ("SELECT ?", "ProgrammingError"),
    ],
)
def test_what_would_fail_again_is_tried_once(path: str, statement: str, kind: str) -> None:
    result = tried(executing(path, statement))
    assert (result.tries, result.why) == (1, f"sqlite3.{kind} is not known to pass by itself")


def test_a_database_that_cannot_be_opened_or_written_or_is_none_is_tried_once(
    path: str, tmp_path: Path
) -> None:
    (tmp_path / "text").write_text("not a database, though it is long enough to be one" * 20)
    assert tried(lambda: sqlite3.connect(tmp_path)).tries == 1
    assert tried(executing(str(tmp_path / "text"), "SELECT * FROM nuts")).tries == 1

    def write_to_a_read_only_one() -> None:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            connection.execute("INSERT INTO nuts VALUES ('walnut')")

    assert tried(write_to_a_read_only_one).tries == 1
