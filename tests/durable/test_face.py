"""Runs as Python sees them: their summaries, pause, resume and cancel, retention, and a rate."""

from __future__ import annotations

import time
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ixbackoff import N1, N3, Constant, NotReady, Stopped, at
from ixbackoff.durable import Engine, durable
from ixbackoff.live import live

from ..support.durable.engines import AnyEngine, Said, Say, fails, until, url_in, working


def begun_to_wait(engine: AnyEngine, run: str) -> bool:
    return engine.run(run).summary.wait_count > 0


@durable(name="hello", schedule=Constant(0.2))
def hello(what: str = "hello") -> Any:
    return at(N3).retry(Say(what))


def test_a_run_is_seen_and_changed_by_another_engine(tmp_path: Path) -> None:
    said = Said(busy=fails(NotReady()))
    with (
        working(tmp_path, said.interpreter, hello, hold=0) as engine,
        Engine(said.interpreter, hello, database=url_in(tmp_path), worker=False) as other,
    ):
        with pytest.raises(LookupError, match="There is no run one"):
            other.run("one")
        engine.start_with_id("one", hello)
        assert other.run("one").result() == "HELLO"
        assert other.run("one").summary.state == "done"
        engine.start_with_id("two", hello, "busy")
        until(lambda: other.run("two").summary.wait_count)
        two = other.run("two")
        two.pause()
        until(lambda: two.summary.state == "paused")
        assert [one.run for one in other.runs()] == ["two", "one"]
        assert [one.run for one in other.runs(limit=1)] == ["two"]
        said.table["busy"] = lambda: "at last"
        assert two.resume()
        assert two.result() == "at last"
        assert not two.resume()
        said.table["busy"] = fails(NotReady())
        three = engine.start_with_id("three", hello, "busy")
        other.run("three").cancel()
        with pytest.raises(Stopped):
            three.result()


def test_runs_that_have_ended_are_kept_for_a_time(tmp_path: Path) -> None:
    said = Said(busy=fails(NotReady()), wrong=fails(KeyError("wrong")))
    with working(tmp_path, said.interpreter, hello, hold=0) as engine:
        engine.start_with_id("done", hello).result()
        with pytest.raises(KeyError, match="wrong"):
            engine.start_with_id("failed", hello, "wrong").result()
        for name in ("paused", "cancelled"):
            engine.start_with_id(name, hello, "busy")
            until(partial(begun_to_wait, engine, name))
        engine.run("paused").pause()
        engine.run("cancelled").cancel()
        until(lambda: engine.run("paused").summary.state == "paused")
    forever = durable(name="later", schedule=Constant(60))(lambda: at(N1).retry(Say("busy")))
    with working(tmp_path, said.interpreter, hello, forever, hold=0) as engine:
        engine.start_with_id("parked", forever)
        until(lambda: engine.store.rests("parked"))
        assert len(engine.runs()) == 5
    with working(tmp_path, said.interpreter, hello, forever, keep=timedelta(hours=1)) as engine:
        time.sleep(0.5)
        assert len(engine.runs()) == 5
    with working(tmp_path, said.interpreter, hello, forever, keep=timedelta(0)) as engine:
        until(lambda: {one.run for one in engine.runs()} == {"paused", "parked"})


@pytest.mark.slow
def test_all_workers_of_a_workflow_keep_its_rate(tmp_path: Path) -> None:
    limited = durable(name="limited", rate=(2, 2.0))(lambda what: at(N1).retry(Say(what)))
    with working(tmp_path, Said().interpreter, limited) as engine:
        began = time.monotonic()
        for run in engine.start_many(limited, {f"{number}": "x" for number in range(5)}):
            run.result()
    assert time.monotonic() - began >= 3.0  # two periods, by a clock of SQLite in whole seconds


def test_bad_settings(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="keep=5: give a timedelta"):
        Engine(live(), hello, database=url_in(tmp_path), keep=5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"rate=\(0, 1\)"):
        durable(rate=(0, 1))
