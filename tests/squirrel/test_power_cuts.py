"""Power cuts: what is recorded is on the disk, and so is what was said to be kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import event

from ixbackoff.squirrel.commands import Resource
from ixbackoff.squirrel.index import Index
from ixbackoff.testing.web import Origin

from ..support.power_cuts import WAYS, WORST, cuts
from ..support.recording import Recorder
from ..support.squirrels import Squirrel


@pytest.mark.slow
def test_what_is_recorded_is_there_after_a_power_cut(tmp_path: Path) -> None:
    found = cuts(tmp_path / "disk", 2, 2, WAYS[WORST])
    assert found.broken == [], str(found)


@pytest.mark.slow
def test_and_it_is_noticed_if_nothing_is_synced(tmp_path: Path) -> None:
    found = cuts(tmp_path / "disk", 2, 20, WAYS[WORST], mistake="nothing is synced")
    assert "a record of" in found.broken[0], str(found)


def test_an_object_and_its_name_are_synced_before_it_is_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    squirrel = Squirrel(tmp_path / "squirrel", capsys)
    recorder = Recorder(squirrel.folder)
    usual = Index.__init__

    def recorded(index: Index, url: str) -> None:
        usual(index, url)
        event.listen(index.engine, "commit", lambda _: recorder.add("commit", "index.sqlite"))

    with Origin({"/nuts": b"acorn" * 50_000}) as origin:
        url = origin.url + "/nuts"
        squirrel.run(url)
        origin.resources["/nuts"] = b"walnut" * 50_000
        with monkeypatch.context() as patched:
            recorder.begin(patched)
            patched.setattr(Index, "__init__", recorded)
            former = squirrel.rows[0].key
            assert squirrel.run(url).results == ["copied"]
    name = f"objects/{Resource(url).name}"
    key = f"objects/{squirrel.rows[0].key}"
    steps = recorder.within("objects", "index")
    begun = steps.index(("write", f"{key}#1"))
    assert steps[begun - 1] == ("commit", "index.sqlite"), "the claim"
    assert steps[begun:] == [
        ("write", f"{key}#1"),
        ("fsync", f"{key}#1"),
        ("replace", f"{key}#1"),
        ("fsync", name),
        ("commit", "index.sqlite"),
        ("unlink", f"objects/{former}"),
        ("commit", "index.sqlite"),
    ]


def test_each_commit_of_the_index_is_synced(tmp_path: Path) -> None:
    with (
        Index(f"sqlite:///{tmp_path / 'index.sqlite'}") as index,
        index.engine.connect() as connection,
    ):
        for pragma, value in {"journal_mode": "wal", "synchronous": 2}.items():  # FULL
            assert connection.exec_driver_sql(f"PRAGMA {pragma}").scalar_one() == value
