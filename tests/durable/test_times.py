"""Waits, deadlines and budgets of durable runs go on from one engine to the next."""

from __future__ import annotations

import time
from collections import Counter
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ixbackoff import (
    FOREVER,
    N1,
    N3,
    N10,
    Constant,
    Exponential,
    NotReady,
    RetryBudget,
    at,
    call,
)
from ixbackoff._running.boot_clock import Boot
from ixbackoff.durable import durable
from ixbackoff.live import live
from ixbackoff.observing import observed
from ixbackoff.testing import no_waits

from ..support.durable.engines import AnyEngine, Said, Say, fails, until, working


@durable(name="limited", schedule=Constant(0.3), within=0.6)
def limited() -> Any:
    return at(N10).retry(Say("busy"))


@pytest.mark.slow
def test_a_deadline_counts_the_time_in_which_nothing_runs(tmp_path: Path) -> None:
    said = Said(busy=fails(NotReady("busy")))
    with working(tmp_path, said.interpreter, limited) as engine:
        engine.start_with_id("one", limited)
        until(lambda: said.what)
    asked_before = len(said.what)
    time.sleep(0.6)
    with (
        working(tmp_path, said.interpreter, limited) as engine,
        pytest.raises((NotReady, TimeoutError)) as raised,
    ):
        engine.start_with_id("one", limited).result()
    assert asked_before == 1
    assert len(said.what) == 1
    assert "0.6 s" in str(raised.value) + str(raised.value.__notes__)


@durable(name="endless", schedule=Constant(0.05))
def endless() -> Any:
    return at(FOREVER).retry(Say("busy"))


@pytest.mark.slow
def test_a_ladder_without_end_goes_on_until_it_is_well(tmp_path: Path) -> None:
    said = Said(busy=fails(*[NotReady()] * 8, "done"))
    with working(tmp_path, said.interpreter, endless) as engine:
        engine.start_with_id("one", endless)
        until(lambda: len(said.what) > 3)
    with working(tmp_path, said.interpreter, endless, hold=0.0) as engine:
        assert engine.start_with_id("one", endless).result() == "done"
        assert len(engine.store.segments("one")) > 1
    assert len(said.what) in (9, 10)  # one may have been asked when the first engine was closed


def test_a_crash_gives_back_no_tokens_of_a_budget(tmp_path: Path) -> None:
    budget = RetryBudget(2)

    def workflow(budget: RetryBudget) -> Any:
        @durable(name="budget", schedule=Constant(0.3), budget=budget)
        def made() -> Any:
            return at(N10).retry(Say("busy"))

        return made

    said = Said(busy=fails(NotReady()))
    first = workflow(budget)
    with working(tmp_path, said.interpreter, first) as engine:
        engine.start_with_id("one", first)
        until(lambda: len(said.what) == 2)
    fresh = workflow(RetryBudget(2))
    with (
        working(tmp_path, said.interpreter, fresh) as engine,
        pytest.raises(NotReady) as raised,
    ):
        engine.start_with_id("one", fresh).result()
    assert "ixbackoff: not tried again, the retry budget is empty" in raised.value.__notes__
    assert len(said.what) in (3, 4)  # the second one may have been asked as its engine was closed


@pytest.mark.slow
def test_the_jitter_is_drawn_once(tmp_path: Path) -> None:
    @durable(name="jittered", schedule=Exponential(0.05).jittered())
    def jittered() -> Any:
        return at(N3).retry(Say("busy"))

    said = Said(busy=fails(NotReady(), NotReady(), NotReady(), "done"))
    for _ in range(3):
        with working(tmp_path, said.interpreter, jittered) as engine:
            engine.start_with_id("one", jittered)
            time.sleep(0.1)
    with working(tmp_path, said.interpreter, jittered) as engine:
        assert engine.start_with_id("one", jittered).result() == "done"
        entries = [entry for _, entry in engine.store.steps("one") if entry is not None]
        given = engine.store.given("one")
    waits = [entry["seconds"] for entry in entries if "seconds" in entry]
    schedule = Exponential(0.05).jittered().begin(Random(given["seed"]))  # noqa: S311
    assert waits == [schedule(number) for number in range(3)]


@pytest.mark.slow
def test_long_waits_are_parked_and_held_by_nobody(tmp_path: Path) -> None:
    @durable(name="nap", schedule=Constant(0.5))
    def nap(number: int) -> Any:
        return (
            at(N1)
            .do(call(time.monotonic))
            .wait()
            .do(call(time.monotonic))
            .map(lambda end: (number, end))
        )

    reasons: list[str] = []
    with (
        working(tmp_path, live(), nap, hold=0.1, concurrency=1) as engine,
        observed(lambda event: reasons.append(getattr(event, "reason", ""))),
    ):
        begun = time.monotonic()
        runs = engine.start_many(nap, {f"nap-{number}": number for number in range(3)})
        until(lambda: [one.status for one in engine.store.segments("nap-2")][1:] == ["DELAYED"])
        assert [run.result()[0] for run in runs] == [0, 1, 2]
        assert time.monotonic() - begun < 1.5 * 3
        assert len(engine.store.segments("nap-0")) == 2
    assert Counter(reasons)["parked"] == Counter(reasons)["well"] == 3


def has_steps(engine: AnyEngine, run: str, number: int) -> bool:
    return len(engine.store.steps(run)) >= number


@pytest.mark.slow
def test_a_wait_is_not_shortened_when_somebody_sets_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @durable(name="nap", schedule=Constant(0.5))
    def nap() -> Any:
        return at(N1).do(call(time.monotonic)).wait().do(call(time.monotonic))

    real = time.time
    for shift in (3600.0, -3600.0):
        run = f"by {shift:g}"
        with working(tmp_path, live(), nap) as engine:
            engine.start_with_id(run, nap)
            until(partial(has_steps, engine, run, 3))
            began = engine.store.steps(run)[1][1]
        assert began is not None
        monkeypatch.setattr(time, "time", lambda shift=shift: real() + shift)
        with working(tmp_path, live(), nap) as engine:
            woke = engine.start_with_id(run, nap).result()
        monkeypatch.setattr(time, "time", real)
        assert 0.5 <= woke - began["a"] < 4.0


@pytest.mark.slow
def test_after_a_start_of_the_machine_the_wall_clock_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @durable(name="nap", schedule=Constant(0.6))
    def nap() -> Any:
        return at(N1).wait().do(call(time.time))

    with working(tmp_path, live(), nap) as engine:
        began = time.time()
        engine.start_with_id("one", nap)
        until(lambda: len(engine.store.steps("one")) >= 2)
    for module in ("clocks", "performing"):
        name = f"ixbackoff.durable.{module}.since_boot"
        monkeypatch.setattr(name, lambda: Boot("another", 5.0))
    with working(tmp_path, live(), nap) as engine:
        assert engine.start_with_id("one", nap).result() - began >= 0.6


def test_a_test_without_waits_waits_for_no_durable_run(tmp_path: Path) -> None:
    @durable(name="long", schedule=Constant(30.0))
    def long() -> Any:
        return at(N1).do(call(str, 1)).wait().do(call(str, 2))

    with no_waits() as waits, working(tmp_path, live(), long) as engine:
        assert engine.start(long).result() == "2"
        assert [round(seconds) for seconds in waits.waited] == [30]
