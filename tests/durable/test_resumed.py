"""A run that is resumed while a command of it still runs: nothing is performed beside itself."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest

from ixbackoff import N1, at, attempt
from ixbackoff.durable import Engine, durable, worker_liveness

from ..support.durable.databases import Databases
from ..support.durable.engines import MOMENT, Said, Say, looking_often, until, working
from ..support.kills.programs import Record, copy, interpreter

# DBOS may submit a run to its event loop while it stops.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@attempt
def three() -> Any:
    yield from Say("first")
    yield from Say("slow")
    return (yield from Say("last"))


@durable(name="three")
def all_three() -> Any:
    return at(N1).retry(three())


class Slow:
    """A command that takes its time, and notices when it is performed beside itself."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.go_on = threading.Event()
        self.inside = 0
        self.most = 0

    def __call__(self) -> str:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.begun.release()
        self.go_on.wait(10)
        self.inside -= 1
        return "slow"


@pytest.mark.parametrize("times", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_a_run_that_is_paused_and_resumed_at_once_goes_on_once_its_command_has_ended(
    tmp_path: Path, times: int
) -> None:
    slow = Slow()
    said = Said(slow=slow)
    with working(tmp_path, said.interpreter, all_three) as engine:
        run = engine.start_with_id("one", all_three)
        assert slow.begun.acquire(timeout=10)
        for _ in range(times):
            engine.store.pause("one")
            assert engine.store.resume("one")
            time.sleep(5 * MOMENT)
        assert said.what == ["first", "slow"]
        slow.go_on.set()
        assert run.result() == "LAST"
    assert slow.most == 1
    assert said.what == ["first", "slow", "slow", "last"]
    assert [one.repeated for what, one in said.asked if one and what == "slow"] == [False, True]


ROOT = Path(__file__).parents[2]
SLOW_WORKER = """
import sys
from tests.support.kills import programs as killed_runs
killed_runs.SHORTEST = killed_runs.LONGEST = 1.0
killed_runs.main(sys.argv[1], "60")
"""


@pytest.fixture
def database(databases: Databases, monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    """A database of its own, whose resumed and lost runs workers of this process find soon."""
    monkeypatch.setattr(worker_liveness, "ROUND", 0.3)
    monkeypatch.setattr(worker_liveness, "BEAT", 0.1)
    with looking_often():
        yield databases.new()


@contextmanager
def slow_worker(database: str, record: Record) -> Generator[subprocess.Popen[str]]:
    """A worker in a process of its own, in whose commands one has time to intervene."""
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", SLOW_WORKER, database],
        cwd=ROOT,
        env=os.environ | {"RECORD": str(record.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def begun(record: Record) -> int:
    return sum(one.what == "begin" for one in record.read())


def inside(record: Record) -> int:
    """How many commands were under way at one time, at most."""
    most = now = 0
    for one in sorted(record.read()):
        now += {"begin": 1, "end": -1, "failed": -1}.get(one.what, 0)
        most = max(most, now)
    return most


@pytest.mark.slow
def test_another_worker_goes_on_once_the_command_has_ended(database: str, tmp_path: Path) -> None:
    record = Record(tmp_path / "record")
    with (
        slow_worker(database, record),
        Engine(interpreter(record), copy, database=database, worker=False) as client,
    ):
        client.start_with_id("copy-1", copy, "copy-1")
        until(lambda: begun(record))
        for _ in range(3):
            client.store.pause("copy-1")
            assert client.store.resume("copy-1")
        with Engine(interpreter(record), copy, database=database) as engine:
            until(lambda: any(one.key == "copy-1:1" for one in record.read()))
            engine.store.cancel("copy-1")
    assert inside(record) == 1
    first = [one for one in record.read() if one.key == "copy-1:0" and one.what == "begin"]
    assert [one.again for one in first] == [False, True]


@pytest.mark.slow
def test_a_run_that_is_resumed_goes_on_though_the_worker_that_had_it_is_dead(
    database: str, tmp_path: Path
) -> None:
    record = Record(tmp_path / "record")
    with slow_worker(database, record) as process:
        with Engine(interpreter(record), copy, database=database, worker=False) as client:
            client.start_with_id("copy-1", copy, "copy-1")
            until(lambda: begun(record))
            client.store.pause("copy-1")
            os.kill(process.pid, SIGKILL)
            process.wait()
            assert client.store.resume("copy-1")
            assert not client.store.rests("copy-1")
        with Engine(interpreter(record), copy, database=database) as engine:
            assert engine.start_with_id("copy-1", copy, "copy-1").result()[0] == "copy-1"


@pytest.mark.slow
def test_a_run_that_is_paused_again_before_it_goes_on_stays_paused(
    database: str, tmp_path: Path
) -> None:
    slow = Slow()
    said = Said(slow=slow)
    with Engine(said.interpreter, all_three, database=database) as engine:
        run = engine.start_with_id("one", all_three)
        assert slow.begun.acquire(timeout=10)
        engine.store.pause("one")
        assert engine.store.resume("one")
        engine.store.pause("one")
        slow.go_on.set()
        time.sleep(0.5)
        assert said.what == ["first", "slow"]
        assert engine.store.resume("one")
        assert run.result() == "LAST"
    assert slow.most == 1
