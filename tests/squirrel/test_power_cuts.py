"""Power cuts: what is recorded is on the disk, and so is what was said to be kept."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ixbackoff.squirrel.commands import Claim, Resource, Swap
from ixbackoff.squirrel.index import Index
from ixbackoff.testing.web import Origin

from ..support.kills.power_cuts import WAYS, WORST, cuts
from ..support.squirrels.recording import Recorder
from ..support.squirrels.running import Squirrel


@pytest.mark.slow
def test_what_is_recorded_is_there_after_a_power_cut(tmp_path: Path) -> None:
    found = cuts(tmp_path / "disk", 2, 2, WAYS[WORST])
    assert found.broken == [], str(found)


@pytest.mark.slow
def test_and_it_is_noticed_if_nothing_is_synced(tmp_path: Path) -> None:
    found = cuts(tmp_path / "disk", 2, 20, WAYS[WORST], mistake="nothing is synced")
    assert "a record of" in found.broken[0], str(found)


NAMED = ("replace", "link")


def test_an_object_and_its_name_are_synced_before_it_is_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    squirrel = Squirrel(tmp_path / "squirrel", capsys)
    recorder, swap = Recorder(squirrel.folder), Index.swap

    def recorded(index: Index, command: Swap) -> bool:
        recorder.add("recorded", command.copy.key)
        return swap(index, command)

    with Origin({"/nuts": b"acorn" * 50_000}) as origin, monkeypatch.context() as patched:
        recorder.begin(patched)
        patched.setattr(Index, "swap", recorded)
        assert squirrel.run(f"{origin.url}/nuts").results == ["copied"]
    key = squirrel.rows[0].key
    steps = recorder.steps
    named = next(at for at, step in enumerate(steps) if step[0] in NAMED and step[1].endswith(key))
    synced = max(at for at in range(named) if steps[at][0] == "fsync")
    written = steps[synced][1]
    assert written.endswith((".part", f"{key}.ixbackoff#1"))
    assert ("write", written) in steps[:synced] or ("copy_file_range", written) in steps[:synced]
    assert not [step for step in steps[synced + 1 :] if step[1] == written and step[0] != "fsync"]
    folder = steps.index(("fsync", f"objects/{key.partition('/')[0]}"), named)
    assert steps.index(("recorded", key)) > folder


def test_each_commit_of_the_index_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    connect = sqlite3.connect

    def heard(*given: Any, **more: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*given, **more)
        connection.set_trace_callback(said.append)
        return connection

    for module in (sqlite3, sqlite3.dbapi2):
        monkeypatch.setattr(module, "connect", heard)
    with Index(f"sqlite:///{tmp_path / 'index.sqlite'}") as index:
        index.claim(Claim(Resource("http://localhost/nuts"), "den"))
    assert {"PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL"} <= {*said[: said.index("COMMIT")]}
