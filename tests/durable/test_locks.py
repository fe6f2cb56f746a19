"""The lock of a worker: when it is not sure of it, it begins nothing; when others take over."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import sqlalchemy

from ixbackoff import N1, at, attempt
from ixbackoff.durable import Engine, durable
from ixbackoff.durable.codec import JSON
from ixbackoff.durable.store import NewRun, Store, owner_of
from ixbackoff.durable.worker import POLL, Worker
from ixbackoff.durable.worker_liveness import ROUND, SPREAD, SURE, FileLock, ServerLock
from ixbackoff.live import live_async

from ..support.durable.engines import Said, Say, until, working
from ..support.servers.postgresql import Server

# DBOS may submit a run to its event loop while it stops.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@attempt
def two() -> Any:
    yield from Say("first")
    yield from Say("second")


@durable(name="two")
def both() -> Any:
    return at(N1).retry(two())


class Lock:
    """A lock of which one is not always sure."""

    def __init__(self) -> None:
        self.sure = True
        self.asked = threading.Event()

    def __call__(self, _: FileLock) -> bool:
        if not self.sure:
            self.asked.set()
        return self.sure

    def hide(self) -> None:
        self.sure = False


@pytest.fixture
def lock(monkeypatch: pytest.MonkeyPatch) -> Lock:
    made = Lock()
    monkeypatch.setattr(FileLock, "has_lock", lambda worker: made(worker))
    return made


@pytest.mark.parametrize("awaited", [False, True], ids=["in threads", "awaited"])
def test_nothing_is_begun_until_a_worker_is_sure_of_its_lock(
    lock: Lock, awaited: bool, tmp_path: Path
) -> None:
    said = Said(first=lock.hide)

    async def say(command: Say) -> Any:
        return said(command)

    interpreter: Any = live_async() | Say.awaited_by(say) if awaited else said.interpreter
    with working(tmp_path, interpreter, both) as engine:
        run = engine.start(both)
        assert lock.asked.wait(10)
        time.sleep(0.1)
        assert said.what == ["first"]
        lock.sure = True
        assert run.result() is None
    assert said.what == ["first", "second"]


def test_nothing_is_begun_once_the_lock_is_lost(lock: Lock, tmp_path: Path) -> None:
    said = Said(first=lock.hide)
    with working(tmp_path, said.interpreter, both) as engine:
        engine.start_with_id("one", both)
        assert lock.asked.wait(10)
    lock.sure = True
    time.sleep(0.1)
    assert said.what == ["first"]
    again = Said()
    with working(tmp_path, again.interpreter, both) as engine:
        assert engine.start_with_id("one", both).result() is None
    assert again.what == ["second"]


@pytest.mark.slow
def test_a_worker_is_not_sure_of_a_lock_that_it_cannot_look_at(roomy_postgresql: Server) -> None:
    store = Store(f"{roomy_postgresql.url.rpartition('/')[0]}/locks")
    worker = ServerLock(store)
    lost = threading.Event()
    worker.watch(lost.set, lambda run: False)
    assert worker.has_lock()
    administrator = sqlalchemy.create_engine(roomy_postgresql.url)
    with administrator.begin() as connection:
        ended = "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'"
        connection.execute(sqlalchemy.text(ended))
    administrator.dispose()
    assert lost.wait(10)
    until(lambda: not worker.has_lock())
    worker.close()
    store.close()


@pytest.mark.slow
def test_runs_are_taken_over_when_a_lock_was_free_at_two_looks(roomy_postgresql: Server) -> None:
    store = Store(f"{roomy_postgresql.url.rpartition('/')[0]}/locks")
    one, other = ServerLock(store), ServerLock(store)
    with (
        patch.object(Store, "working", return_value={one.id, other.id}),
        patch.object(Store, "enqueue_again", return_value=1) as taken,
    ):
        other._check_others()
        other._check_others()
        taken.assert_not_called()
        one.close()
        while not other._free:
            other._check_others()
        taken.assert_not_called()
        other._check_others()
        taken.assert_called_once_with(one.id)
    other.close()
    store.close()


def statuses(engine: Engine[Any], run: str) -> list[str]:
    return [one.status for one in engine.store.segments(run)]


@pytest.mark.slow
def test_who_comes_late_takes_no_run_from_the_worker_that_has_it(tmp_path: Path) -> None:
    """As it does when the answer of the database was lost, or when it was frozen meanwhile."""
    owners: list[str] = []
    go_on = threading.Event()

    def first() -> None:
        go_on.wait(1)

    performed = Worker.performed

    async def owned(working: Worker, start: NewRun, segment: int, *rest: Any) -> JSON:
        owners.append(owner_of(start.run, segment))
        return await performed(working, start, segment, *rest)

    said = Said(first=first)
    with (
        patch.object(Worker, "performed", owned),
        working(tmp_path, said.interpreter, both) as engine,
    ):
        run = engine.start_with_id("one", both)
        until(lambda: said.what == ["first"])
        engine.store.give_back("one", "local", owners[0])
        until(lambda: len(owners) == 2)
        engine.store.give_back("one", "local", owners[0])
        assert engine.store.enqueue_again("another") == 0
        assert statuses(engine, "one") == ["PENDING"]
        time.sleep(3 * POLL)
        assert len(owners) == 2
        go_on.set()
        assert run.result() is None


def test_a_worker_is_sure_for_less_than_a_round() -> None:
    assert SURE < ROUND * (1 - SPREAD)
