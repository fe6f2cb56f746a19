"""Workers on a real PostgreSQL server: the runs of one that dies go on with the others."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path
from signal import SIGCONT, SIGKILL
from typing import Any

import pytest
import sqlalchemy
from dbos import _queue
from dbos._core import execute_dequeued_workflow

from ixbackoff import N1, Constant, Listed, at, call
from ixbackoff.durable import Engine, durable, outages, worker, worker_liveness
from ixbackoff.durable.dbos_journal import SegmentJournal
from ixbackoff.durable.server_pool import server_engine
from ixbackoff.durable.worker import WORKERS
from ixbackoff.live import live

from ..support.durable.databases import Databases
from ..support.durable.engines import MOMENT, looking_often, until
from ..support.durable.frozen import frozen
from ..support.kills.away import away
from ..support.kills.programs import Performed, Record
from ..support.kills.programs import copy as copied
from ..support.kills.programs import interpreter as telling
from ..support.servers.postgresql import Server

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Let workers of this process look often, and take over the runs of the dead after 0.5 s."""
    monkeypatch.setattr(worker_liveness, "ROUND", 0.3)
    with looking_often():
        yield


@pytest.fixture
def database(databases: Databases) -> str:
    """A database of its own."""
    return databases.new()


@durable(name="nap", schedule=Constant(0.6))
def nap(times: str) -> Any:
    return at(N1).do(call(note, times)).wait().do(call(note, times))


TIMES: dict[str, list[float]] = {}


def note(times: str) -> None:
    TIMES.setdefault(times, []).append(time.monotonic())


@durable(name="later", schedule=Constant(1.5))
def later(number: int = 1) -> Any:
    return at(N1).retry(call(str, number))


def test_a_run_on_a_server_and_in_stretches(database: str) -> None:
    for hold in (60.0, 0.1):
        with Engine(live(), nap, database=database, hold=hold) as engine:
            run = engine.start_with_id(f"hold {hold:g}", nap, database + f" {hold:g}")
            run.result()
            before, after = TIMES[database + f" {hold:g}"]
            assert after - before >= 0.6
            assert len(engine.store.segments(run.id)) == (1 if hold > 0.6 else 2)


def test_an_idle_worker_has_at_most_four_connections(
    database: str, roomy_postgresql: Server
) -> None:
    engine = sqlalchemy.create_engine(roomy_postgresql.url, isolation_level="AUTOCOMMIT")
    counted = sqlalchemy.text("select count(*) from pg_stat_activity where datname = :name")
    name = {"name": database.rpartition("/")[2]}
    seen: list[int] = []
    with (
        Engine(live(), nap, later, database=database) as worker,
        engine.connect() as connection,
    ):
        runs = worker.start_many(later, {f"run {number}": number for number in range(50)})
        for run in runs:
            run.result()
        until(lambda: connection.execute(counted, name).scalar_one() <= 4)
        for _ in range(20):
            time.sleep(MOMENT)
            seen.append(connection.execute(counted, name).scalar_one())
    engine.dispose()
    assert 2 <= max(seen) <= 4


def test_what_a_thread_gives_back_after_the_end_is_closed(roomy_postgresql: Server) -> None:
    engine = server_engine(roomy_postgresql.url)
    connections = [engine.connect(), engine.connect()]
    engine.dispose()
    connections.append(engine.connect())
    drivers: list[Any] = [one.connection.driver_connection for one in connections]
    for connection in connections:
        connection.close()
    assert all(driver.closed for driver in drivers)


def test_many_runs_are_begun_in_one_transaction(database: str) -> None:
    @durable(name="title")
    def title(text: str) -> Any:
        return at(N1).retry(call(str.title, text))

    with Engine(live(), title, database=database, concurrency=5) as engine:
        runs = engine.start_many(title, {f"run {number}": f"a{number}" for number in range(30)})
        assert [run.result() for run in runs] == [f"A{number}" for number in range(30)]


def test_no_worker_takes_a_workflow_that_it_does_not_have(database: str) -> None:
    with (
        Engine(live(), nap, database=database),
        Engine(live(), later, database=database, worker=False) as client,
    ):
        client.start_with_id("one", later)
        time.sleep(10 * MOMENT)
        last = client.store.last("one")
        assert last is not None
        assert last.status == "ENQUEUED"


@pytest.fixture
def record(tmp_path: Path) -> Record:
    return Record(tmp_path / "record")


@pytest.fixture
def other(database: str, record: Record) -> Generator[subprocess.Popen[str]]:
    """Another worker."""
    with begun(database, record) as process:
        yield process
        process.kill()


def begun(database: str, record: Record) -> subprocess.Popen[str]:
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "tests.support.kills.programs", database, "0.3"],
        cwd=ROOT,
        env=os.environ | {"RECORD": str(record.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def check(record: Record, runs: list[str], deaths: int) -> None:
    """Each command is performed once, and once more at most for each death, with `repeated` set."""
    places: dict[str, list[Performed]] = {}
    for one in record.read():
        if one.what == "begin":
            places.setdefault(one.key, []).append(one)
    assert {key.rpartition(":")[0] for key in places} == set(runs)
    for told in places.values():
        assert len(told) == len({one.process for one in told}) <= 1 + deaths
        assert all(one.again for one in told[1:])


def test_the_runs_of_a_dead_worker_go_on(
    database: str, record: Record, other: subprocess.Popen[str]
) -> None:
    runs = [f"copy-{number}" for number in range(4)]
    with Engine(telling(record), copied, database=database, worker=False) as client:
        for run in runs:
            client.start_with_id(run, copied, run)
        until(lambda: len(record.read()) > 8)
    os.kill(other.pid, SIGKILL)
    other.wait()
    with Engine(telling(record), copied, database=database, hold=0.3) as engine:
        for run in runs:
            assert engine.start_with_id(run, copied, run).result()[:2] == (
                run,
                3 * len(f"token-{run}"),
            )
    check(record, runs, deaths=1)


def end_sessions_with_locks(server: Server) -> None:
    administrator = sqlalchemy.create_engine(server.url)
    with administrator.begin() as connection:
        ended = "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'"
        connection.execute(sqlalchemy.text(ended))
    administrator.dispose()


def test_a_worker_that_wakes_when_another_has_its_run_performs_nothing_more_of_it(
    database: str, roomy_postgresql: Server, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_liveness, "ROUND", 0.8)  # the other is not sure of its lock by then
    client = Engine(live(), frozen, database=database, worker=False)
    words = [sys.executable, "-m", "tests.support.durable.frozen", database]
    other = subprocess.Popen(words, cwd=ROOT, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        run = client.start_with_id("one", frozen, record.path, freeze=True)
        _, status = os.waitpid(other.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        end_sessions_with_locks(roomy_postgresql)
        with Engine(live(), frozen, database=database):
            assert run.result() == "third"
        before = len(record.read())
        os.kill(other.pid, SIGCONT)
        second = client.start_with_id("two", frozen, record.path, freeze=False)
        assert second.result() == "third"  # by the one that was frozen, as another worker
    finally:
        other.kill()
        other.wait()
        client.close()
    happened = record.read()
    late = [(one.what, one.said) for one in happened[before:] if one.run == "one"]
    assert late == [("end", "second")]
    mine = [(one.said, one.again) for one in happened if one.process.startswith(str(os.getpid()))]
    assert mine == [("second", True), ("second", True), ("third", False), ("third", False)]


def test_a_worker_that_lost_its_lock_leaves_its_runs_and_goes_on(
    database: str, roomy_postgresql: Server, record: Record
) -> None:
    began, go_on = threading.Event(), threading.Event()
    asked: list[int] = []

    def hang() -> str:
        asked.append(1)
        began.set()
        if len(asked) == 1:
            go_on.wait(20)
        return "well"

    @durable(name="hanging")
    def hanging() -> Any:
        return at(N1).do(call(hang)).do(call(str, 2)).end()

    with Engine(live(), hanging, database=database) as engine:
        run = engine.start(hanging)
        assert began.wait(10)
        (working,) = WORKERS
        first = working.lock.id
        end_sessions_with_locks(roomy_postgresql)
        until(lambda: working.lock.id != first)
        assert run.result() == "2"
        go_on.set()
        assert len(asked) == 2


def test_a_run_that_comes_from_its_queue_just_when_the_lock_is_lost_is_left(
    database: str, roomy_postgresql: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    ready = threading.Event()
    hand_out, sure = execute_dequeued_workflow, SegmentJournal.sure

    @durable(name="saying")
    def saying() -> Any:
        return at(N1).do(call(said.append, "first")).do(call(second)).end()

    def second() -> None:
        said.append("second")
        time.sleep(0.5)

    with Engine(live(), saying, database=database) as engine:
        run = engine.start_with_id("one", saying)
        until(lambda: said == ["first", "second"])
        (working,) = WORKERS
        dead = working.lock.id

    def handed_out(*args: Any) -> Any:
        if working.generation:
            return hand_out(*args)
        end_sessions_with_locks(roomy_postgresql)
        until(lambda: working.generation and not working.lock.has_lock())
        handle = hand_out(*args)
        ready.wait(0.5)  # by then it waits for a lock, or it was left; the event loop ends later
        return handle

    def current_command(segment: SegmentJournal) -> bool:
        ready.set()
        return sure(segment)

    monkeypatch.setattr(_queue, execute_dequeued_workflow.__name__, handed_out)
    monkeypatch.setattr(SegmentJournal, "sure", current_command)
    with Engine(live(), saying, database=database) as engine:
        (working,) = WORKERS
        engine.store.enqueue_again(dead)
        assert engine.start_with_id(run.id, saying).result() is None
    assert said == ["first", "second", "second"]


def test_a_run_goes_on_when_its_database_was_away(
    database: str,
    roomy_postgresql: Server,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outages, "WAITS", Listed([0.1, 0.2, 0.5, 1.0]))
    monkeypatch.setattr(worker, "REJOIN", 0.2)
    away(roomy_postgresql, database, seconds=1.0)
    assert caplog.messages
    for said in caplog.messages:
        assert "\n" not in said
        assert "SQL" not in said


def test_a_process_ends_while_the_database_is_away(roomy_postgresql: Server, database: str) -> None:
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "tests.support.kills.away", database],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "one more\n"
        roomy_postgresql.stop()
        try:
            time.sleep(1.0)  # in which the entry of the command cannot be kept
            process.stdin.close()
            assert process.wait(timeout=15) == 0
        finally:
            process.kill()
            roomy_postgresql.start()
