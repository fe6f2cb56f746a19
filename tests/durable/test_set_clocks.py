"""Parked waits while the clocks of machines are set: they are due by a clock that nobody sets."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from ixbackoff import N1, Constant, at, call
from ixbackoff._running.boot_clock import Boot
from ixbackoff.durable import Engine, clocks, durable
from ixbackoff.live import live

from ..support.durable.databases import Databases
from ..support.durable.engines import MOMENT, looking_often, until, url_in

pytestmark = pytest.mark.slow

HOUR = 3600.0
WAIT = 1.2
REAL = time.time


@durable(name="nap", schedule=Constant(WAIT))
def nap() -> Any:
    return at(N1).do(call(time.monotonic)).wait().do(call(time.monotonic))


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "SQLite":
        return url_in(tmp_path)
    databases: Databases = request.getfixturevalue("databases")
    return databases.new()


@pytest.fixture(autouse=True)
def soon() -> Generator[None]:
    with looking_often():
        yield


@pytest.mark.parametrize(("first", "then"), [(HOUR, 0.0), (0.0, HOUR), (-HOUR, 0.0), (0.0, -HOUR)])
def test_a_parked_wait_is_due_whoever_set_the_clocks(
    database: str, first: float, then: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: REAL() + first)
    with Engine(live(), nap, database=database, hold=0) as engine:
        engine.start_with_id("one", nap)
        until(lambda: engine.store.rests("one"))
        began = time.monotonic()
    monkeypatch.setattr(time, "time", lambda: REAL() + then)
    with Engine(live(), nap, database=database, hold=0) as engine:
        time.sleep(5 * MOMENT)
        assert engine.store.rests("one")  # it is not held by this process for an hour
        assert engine.start_with_id("one", nap).result() - began < WAIT + 2


def test_the_clock_of_a_file_lasts_until_the_machine_boots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runs.sqlite.worker"
    path.write_text("what somebody wrote")

    def clock(boot: str, seconds: float, epoch: float) -> Callable[[], float]:
        monkeypatch.setattr(clocks, "since_boot", lambda: Boot(boot, seconds))
        monkeypatch.setattr(time, "time", lambda: epoch)
        with path.open("r+") as file:
            return clocks.clock_in(file)

    assert clock("first", 100.0, 5000.0)() == 5000.0
    assert clock("first", 110.0, 9000.0)() == 5010.0
    assert clock("second", 10.0, 9000.0)() == 9000.0
    assert clock("", 0.0, 7000.0)() == 7000.0
