"""Troubles of the database: a run waits, performs nothing that it could not record, and goes on."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

from ixbackoff import N1, Constant, at, attempt
from ixbackoff.durable import Engine, durable
from ixbackoff.observing import Ended, Event, observed

from ..support.disks import Disk, small_disk
from ..support.engines import Said, Say, until, working
from ..support.postgresql import Server

LARGE = os.urandom(200_000).hex()


@attempt
def two() -> Any:
    yield from Say("first")
    return (yield from Say("second"))


@durable(name="both", schedule=Constant(0.1))
def both() -> Any:
    return at(N1).retry(two())


@pytest.fixture
def disk(tmp_path: Path) -> Generator[Disk]:
    with small_disk(tmp_path / "disk", "3m") as made:
        yield made


FULL = r"run one waits: the database fails, trying again in 1 s: database or disk is full"


def test_on_a_full_disk_nothing_is_performed_that_follows_what_cannot_be_recorded(
    disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    def first() -> str:
        disk.fill()
        return LARGE

    said = Said(first=first)
    with working(disk.folder, said.interpreter, both) as engine:
        run = engine.start_as("one", both)
        until(lambda: FULL in caplog.messages)
        time.sleep(0.2)
        assert said.what == ["first"]
        disk.make_room()
        assert run.result() == "SECOND"
    assert said.what == ["first", "second"]
    assert {record.name for record in caplog.records} == {"ixbackoff"}


def test_a_run_whose_end_finds_a_full_disk_ends_when_there_is_room(
    disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    def at_the_end(event: Event) -> None:
        if isinstance(event, Ended) and not disk.ballast.exists():
            disk.fill()

    said = Said()
    with working(disk.folder, said.interpreter, both) as engine:
        with observed(at_the_end):
            run = engine.start_as("one", both)
            until(lambda: FULL in caplog.messages)
        disk.make_room()
        assert run.result() == "SECOND"
    assert said.what == ["first", "second"]


@pytest.fixture
def full_database(roomy_postgresql: Server) -> Generator[tuple[str, Disk]]:
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
    with Engine(said.interpreter, both, database=url) as engine:
        run = engine.start_as("one", both)
        until(lambda: "No space left on device" in caplog.text)
        time.sleep(0.2)
        assert said.what == ["first"]
        disk.make_room()
        assert run.result() == "SECOND"
    assert said.what == ["first", "second"]
    assert LARGE[:50] not in caplog.text
