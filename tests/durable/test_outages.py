"""Outages of the database: a run waits, performs nothing that it could not record, and goes on."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sqlite3
import threading
import time
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from dbos import DBOS, _migration, _sys_db_sqlite
from dbos._sys_db import SystemDatabase
from sqlalchemy import BigInteger, cast, func
from sqlalchemy.exc import OperationalError

from ixbackoff import Listed, Misuse
from ixbackoff.durable import Engine, outages
from ixbackoff.durable import durable_command as commandline
from ixbackoff.durable.journal import RunLost
from ixbackoff.durable.outages import insist, insist_async, wait_after
from ixbackoff.observing import Ended, Event, observed

from ..support.durable.engines import Said, both, fails, looking_often, until, url_in, working
from ..support.kills.disks import Disk, small_disk
from ..support.servers.postgresql import Server

LARGE = os.urandom(200_000).hex()


DOWN = OperationalError("select", {}, Exception("the server is away"))


def test_the_database_is_tried_again_until_it_answers(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(outages, "WAITS", Listed([0, 0.01]))
    answer = fails(DOWN, DOWN, "there")

    async def awaited() -> Any:
        return answer()

    assert insist("one", answer, threading.Event()) == "there"
    answer = fails(DOWN, DOWN, "here")
    assert asyncio.run(insist_async("two", awaited)) == "here"
    assert caplog.messages == [
        f"run {run} waits: the database fails, trying again in {seconds} s: the server is away"
        for run in ("one", "two")
        for seconds in ("0", "0.01")
    ]


def test_the_database_is_tried_again_after_longer_and_longer_waits() -> None:
    assert [wait_after("one", DOWN, k) for k in range(6)] == [1, 2, 5, 10, 10, 10]


def test_a_failure_of_something_else_is_raised_at_once() -> None:
    async def awaited() -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        insist("one", fails(KeyError("mine"), "never"), threading.Event())
    with pytest.raises(KeyError, match="mine"):
        asyncio.run(insist_async("one", awaited))


def test_a_worker_that_stops_waits_for_no_database() -> None:
    stop = threading.Event()

    def stopped() -> None:
        stop.set()
        raise DOWN

    with pytest.raises(RunLost):
        insist("one", stopped, stop)


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages, "WAITS", Listed([0.3]))


@pytest.fixture
def disk(tmp_path: Path, short_waits: None) -> Generator[Disk]:
    with small_disk(tmp_path / "disk", "3m") as made:
        yield made


FULL = r"run one waits: the database fails, trying again in 0.3 s: database or disk is full"


@pytest.mark.slow
def test_on_a_full_disk_nothing_is_performed_that_follows_what_cannot_be_recorded(
    disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    def first() -> str:
        disk.fill()
        return LARGE

    said = Said(first=first)
    with working(disk.folder, said.interpreter, both) as engine:
        run = engine.start_with_id("one", both)
        until(lambda: FULL in caplog.messages)
        time.sleep(0.2)
        assert said.what == ["first"]
        disk.make_room()
        assert run.result() == "SECOND"
    assert said.what == ["first", "second"]
    assert {record.name for record in caplog.records} == {"ixbackoff"}


@pytest.mark.slow
def test_a_run_whose_end_finds_a_full_disk_ends_when_there_is_room(
    disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    def at_the_end(event: Event) -> None:
        if isinstance(event, Ended) and not disk.ballast.exists():
            disk.fill()

    said = Said()
    with working(disk.folder, said.interpreter, both) as engine:
        with observed(at_the_end):
            run = engine.start_with_id("one", both)
            until(lambda: FULL in caplog.messages)
        disk.make_room()
        assert run.result() == "SECOND"
    assert said.what == ["first", "second"]


@pytest.fixture
def full_database(roomy_postgresql: Server, short_waits: None) -> Generator[tuple[str, Disk]]:
    """A database on a small disk of its own."""
    administrator = sqlalchemy.create_engine(roomy_postgresql.url, isolation_level="AUTOCOMMIT")

    def do(*words: str) -> None:
        with administrator.connect() as connection:
            for word in words:
                connection.execute(sqlalchemy.text(word))

    with small_disk(roomy_postgresql.folder / "disk", "24m") as disk:
        place = disk.folder / "data"
        place.mkdir(mode=0o700)
        if roomy_postgresql.user is not None:
            shutil.chown(place, roomy_postgresql.user)
        do(f"create tablespace small location '{place}'", "create database filled tablespace small")
        yield f"postgresql://{roomy_postgresql.address.rpartition('/')[0]}/filled", disk
        do("drop database filled with (force)", "drop tablespace small")
        administrator.dispose()


@pytest.mark.slow
def test_on_a_server_with_a_full_disk_a_run_waits_for_room(
    full_database: tuple[str, Disk], caplog: pytest.LogCaptureFixture
) -> None:
    url, disk = full_database

    def first() -> str:
        disk.fill()
        return LARGE

    said = Said(first=first)
    with looking_often(), Engine(said.interpreter, both, database=url) as engine:
        run = engine.start_with_id("one", both)
        until(lambda: "No space left on device" in caplog.text)
        time.sleep(0.2)
        assert said.what == ["first"]
        disk.make_room()
        assert run.result() == "SECOND"
    assert said.what == ["first", "second"]
    assert LARGE[:50] not in caplog.text


def change_version(folder: Path, version: int) -> int:
    """Change the version of the tables, and return that which they had."""
    with closing(sqlite3.connect(folder / "runs.sqlite")) as connection, connection:
        (before,) = connection.execute("select version from dbos_migrations").fetchone()
        connection.execute("update dbos_migrations set version = ?", (version,))
    return int(before)


def test_tables_of_a_newer_dbos_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = Said()
    with working(tmp_path, said.interpreter, both, worker=False) as engine:
        engine.start_with_id("one", both)
    mine = change_version(tmp_path, 1000)
    sentence = (
        f"A newer DBOS made the tables of this database (version 1000, not {mine}): upgrade "
        "the package dbos, or give another database."
    )
    for worker in (True, False):
        with pytest.raises(Misuse, match=re.escape(sentence)):
            Engine(said.interpreter, both, database=url_in(tmp_path), worker=worker)
    assert commandline.main(["--database", url_in(tmp_path), "runs"]) == 2
    assert capsys.readouterr().err == f"{sentence}\n"
    assert said.what == []
    change_version(tmp_path, mine)
    with working(tmp_path, said.interpreter, both) as engine:
        assert engine.start_with_id("one", both).result() == "SECOND"


def test_milliseconds_are_asked_for_as_of_a_newer_sqlite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Python 3.12 DBOS does so, also where there is an older one."""
    now = cast(func.unixepoch("subsec") * 1000, BigInteger)
    monkeypatch.setattr(SystemDatabase, "_now_ms_sql", lambda _: now)
    began = time.time()
    with working(tmp_path, Said().interpreter, both) as engine:
        assert engine.start_with_id("one", both).result() == "SECOND"
        (run,) = DBOS.list_workflows()
    assert run.updated_at is not None
    assert began - 0.01 <= run.updated_at / 1000 <= time.time()


def test_tables_of_an_older_dbos_are_made_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with monkeypatch.context() as patched:
        for module in (_migration, _sys_db_sqlite):
            patched.setattr(module, "sqlite_migrations", _migration.sqlite_migrations[:40])
        DBOS.migrate(url_in(tmp_path))
    with working(tmp_path, Said().interpreter, both) as engine:
        assert engine.start(both).result() == "SECOND"
    latest = len(_migration.sqlite_migrations)
    assert caplog.messages == [f"an older DBOS made the tables: 40 becomes {latest}"]


@pytest.mark.parametrize(
    ("database", "said"),
    [
        ("sqlite:////nowhere/runs.sqlite", "cannot be opened: unable to open database file"),
        ("sqlite:///{folder}", "cannot be opened: unable to open database file"),
        ("sqlite:///{folder}/text", "cannot be opened: file is not a database"),
        ("postgresql://me:opensaysme@127.0.0.1:1/runs", "127.0.0.1:1/runs cannot be opened: conn"),
    ],
)
def test_a_database_that_cannot_be_opened(database: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, but a long line of text" * 100)
    with pytest.raises(ConnectionError, match=said) as raised:
        Engine(Said().interpreter, both, database=database.format(folder=tmp_path))
    assert "opensaysme" not in str(raised.value)
    assert "\n" not in str(raised.value)
