"""The database of runs on a file of SQLite, without and beside a worker."""

from __future__ import annotations

import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from ixbackoff import N1, Stopped, at
from ixbackoff.durable import durable
from ixbackoff.durable import durable_command as commandline

from ..support.durable.engines import AnyEngine, Said, Say, until, working


@durable(name="say")
def say(what: str) -> Any:
    return at(N1).retry(Say(what))


def test_only_the_owner_puts_a_segment_back_in_its_queue(tmp_path: Path) -> None:
    go_on = threading.Event()
    said = Said(slow=lambda: go_on.wait(10))
    with working(tmp_path, said.interpreter, say) as engine:
        run = engine.start_with_id("one", say, "slow")
        until(lambda: said.what)
        assert not engine.store.enqueue_one("one", "another owner")
        assert [one.status for one in engine.store.segments("one")] == ["PENDING"]
        ((segment, owner),) = engine.store.performed_by("local")
        assert segment == "one"
        assert not engine.store.enqueue_one("another run", owner)
        assert engine.store.enqueue_one("one", owner)
        go_on.set()
        run.result()
    assert said.what == ["slow", "slow"]


def test_runs_of_similar_ids_are_told_apart(tmp_path: Path) -> None:
    with working(tmp_path, Said().interpreter, say, worker=False) as engine:
        for run in ("a", "ab", "a b"):
            engine.start_with_id(run, say, "a")
        store = engine.store
        assert [one.workflow_id for one in store.segments("a")] == ["a"]
        assert store.recent(2) == ["a b", "ab"]
        store.cancel("a")
        assert [store.can_continue(run) for run in ("a", "ab", "nowhere")] == [False, True, False]
        assert store.forget("a")
        assert not store.forget("ab")
        assert store.last("a") is None
        assert store.last("ab") is not None


@pytest.fixture
def endless(tmp_path: Path) -> Generator[AnyEngine]:
    """An engine with a run `one` whose end the database failed to record."""
    with working(tmp_path, Said().interpreter, say, worker=False) as engine:
        engine.start_with_id("one", say, "a")
        with engine.store.engine().begin() as connection:
            connection.exec_driver_sql("UPDATE workflow_status SET status = 'ERROR'")
        yield engine


def test_a_run_whose_end_was_not_recorded_can_continue(endless: AnyEngine) -> None:
    assert endless.store.can_continue("one")
    assert not endless.store.forget("one")
    assert endless.store.resume("one")


def test_a_run_whose_end_was_not_recorded_is_forgotten_once_it_is_cancelled(
    endless: AnyEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    def line(word: str) -> int:
        return commandline.main(["--database", endless.store.database, word, "one"])

    assert line("forget") == 1
    assert capsys.readouterr().err == "Run one has not ended: cancel it first.\n"
    assert line("cancel") == 0
    assert "one  cancelled" in capsys.readouterr().out
    with pytest.raises(Stopped):
        endless.run("one").result()
    assert line("forget") == 0
    assert endless.store.last("one") is None
