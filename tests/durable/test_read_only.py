"""A database that becomes read-only: a run waits, and performs nothing that it cannot record."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy import event

from ixbackoff.durable import Engine

from ..support.durable.engines import Said, both, until, url_in
from ..support.servers.postgresql import Server

pytestmark = pytest.mark.slow


def waits_until_it_is_mended(database: str, change: Any, said_by: str, caplog: Any) -> None:
    said = Said(first=lambda: change(engine, True))
    with Engine(said.interpreter, both, database=database) as engine:
        run = engine.start_with_id("one", both)
        try:
            until(
                lambda: (
                    f"run one waits: the database fails, trying again in 1 s: {said_by}"
                    in caplog.text
                )
            )
            time.sleep(0.2)
            assert said.what == ["first"]
        finally:
            change(engine, False)
        assert run.result() == "SECOND"
    assert said.what == ["first", "second"]


def test_a_file_that_is_read_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    read_only = [False]

    def change(engine: Engine[Any], on: bool) -> None:
        read_only[0] = on
        if not event.contains(engine.store.engine(), "checkout", checked_out):
            event.listen(engine.store.engine(), "checkout", checked_out)

    def checked_out(connection: Any, *_: object) -> None:
        connection.execute(f"pragma query_only = {int(read_only[0])}")

    said_by = "attempt to write a readonly database"
    waits_until_it_is_mended(url_in(tmp_path), change, said_by, caplog)


def test_a_server_that_is_read_only(
    roomy_postgresql: Server, caplog: pytest.LogCaptureFixture
) -> None:
    administrator = sqlalchemy.create_engine(roomy_postgresql.url, isolation_level="AUTOCOMMIT")

    def change(_: Engine[Any], on: bool) -> None:
        with administrator.connect() as connection:
            setting = f"alter system set default_transaction_read_only to {on}"
            connection.execute(sqlalchemy.text(setting))
            connection.execute(sqlalchemy.text("select pg_reload_conf()"))
        time.sleep(0.2)

    url = f"postgresql://{roomy_postgresql.address.rpartition('/')[0]}/read_only"
    said_by = "cannot execute SELECT FOR NO KEY UPDATE in a read-only transaction"
    waits_until_it_is_mended(url, change, said_by, caplog)
    administrator.dispose()
