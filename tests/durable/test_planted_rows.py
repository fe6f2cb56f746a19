"""Databases that somebody planted: code that their rows carry does not run."""

from __future__ import annotations

import base64
import os
import pickle
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ixbackoff import N1, Misuse, at, call
from ixbackoff.durable import Engine, durable, durable_command
from ixbackoff.live import live

from ..support.durable.engines import url_in


@durable(name="hello")
def hello(name: str) -> Any:
    return at(N1).retry(call(str.title, name))


class Planted:
    """What makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (self.path,)


ROWS = {
    "workflow_status": """
        insert into workflow_status (workflow_uuid, status, name, executor_id, application_version,
            inputs, created_at, updated_at, serialization)
        values ('planted', 'PENDING', 'ixbackoff.run', 'local', 'ixbackoff-1', ?, 1, 1, 'py_pickle')
    """,
    "operation_outputs": """
        insert into operation_outputs (workflow_uuid, function_id, function_name, output,
            serialization)
        values ('mine', 1, 'x', ?, 'py_pickle')
    """,
}


def ran(folder: Path) -> None:
    """Have an engine make a database with one run that has ended."""
    with Engine(live(), hello, database=url_in(folder)) as engine:
        assert engine.start_with_id("mine", hello, "you").result() == "You"


def file_in(folder: Path) -> Path:
    return Path(url_in(folder).removeprefix("sqlite:///"))


def used(folder: Path) -> None:
    with Engine(live(), hello, database=url_in(folder)) as engine:
        engine.start_with_id("mine", hello, "you").result()


@pytest.mark.parametrize("table", ROWS)
def test_a_row_that_would_be_unpickled_is_refused_before_the_engine_starts(
    table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran(tmp_path)
    carried = base64.b64encode(pickle.dumps(Planted(tmp_path / "taken"))).decode()
    with closing(sqlite3.connect(file_in(tmp_path))) as connection, connection:
        if table == "operation_outputs":
            connection.execute("delete from operation_outputs")
        connection.execute(ROWS[table], (carried,))
    with pytest.raises(Misuse, match=rf"The table {table} .* rows that ixbackoff did not write"):
        used(tmp_path)
    assert durable_command.main(["--database", url_in(tmp_path), "show", "planted"]) == 2
    assert "give a database of its own" in capsys.readouterr().err
    assert not (tmp_path / "taken").exists()


def test_a_trigger_that_would_plant_such_a_row_is_refused(tmp_path: Path) -> None:
    ran(tmp_path)
    with closing(sqlite3.connect(file_in(tmp_path))) as connection, connection:
        connection.execute(
            "create trigger planting after insert on operation_outputs begin "
            "update operation_outputs set serialization = 'py_pickle'; end"
        )
    with pytest.raises(Misuse, match="has triggers or views, and ixbackoff makes none"):
        used(tmp_path)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has other owners")
@pytest.mark.parametrize("ending", ["", "-journal"])
def test_a_file_of_another_user_is_refused(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran(tmp_path)
    path = f"{file_in(tmp_path)}{ending}"
    Path(path).touch()
    theirs, found = os.geteuid() + 1, os.stat

    def stat(asked: Any, **how: Any) -> os.stat_result:
        status = found(asked, **how)
        return os.stat_result([*status[:4], theirs, *status[5:10]]) if asked == path else status

    monkeypatch.setattr(os, "stat", stat)
    with pytest.raises(Misuse, match=rf"{path} belongs to another user"):
        used(tmp_path)
