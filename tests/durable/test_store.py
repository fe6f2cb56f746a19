"""The database of runs on a file of SQLite, without and beside a worker."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from ixbackoff import N1, at
from ixbackoff.durable import durable

from ..support.durable.engines import Said, Say, until, working


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


def test_a_run_whose_end_was_not_recorded_can_continue(tmp_path: Path) -> None:
    with working(tmp_path, Said().interpreter, say, worker=False) as engine:
        engine.start_with_id("one", say, "a")
        store = engine.store
        with store.engine().begin() as connection:
            connection.exec_driver_sql("UPDATE workflow_status SET status = 'ERROR'")
        assert store.can_continue("one")
        assert store.resume("one")
