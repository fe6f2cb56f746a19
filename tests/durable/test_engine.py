"""Durable runs on a file of SQLite: from one engine to the next they go on where they were."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ixbackoff import (
    FOREVER,
    N0,
    N1,
    N2,
    N3,
    N10,
    Budget,
    Command,
    Constant,
    Diverged,
    Exponential,
    NotReady,
    Pick,
    Stopped,
    Throttled,
    all_of,
    at,
    attempt,
    call,
    do,
)
from ixbackoff.durable import Asked, Unrecordable, asked, durable
from ixbackoff.durable import clocks as clocks_of_runs
from ixbackoff.durable.clocks import Boot
from ixbackoff.live import live, live_async
from ixbackoff.observing import observed
from ixbackoff.testing import no_waits

from ..support.engines import AnyEngine, until, working

# DBOS may submit a run to its event loop while it stops.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@dataclass(frozen=True)
class Say(Command[Any]):
    """A command whose handler is a table of functions by name."""

    what: str


class Said:
    """The handler of `Say`: it keeps what was said, and does what a table says."""

    def __init__(self, **table: Callable[[], Any]) -> None:
        self.table = table
        self.asked: list[tuple[str, Asked | None]] = []

    def __call__(self, command: Say) -> Any:
        self.asked.append((command.what, asked()))
        return self.table.get(command.what, lambda: command.what.upper())()

    @property
    def what(self) -> list[str]:
        return [what for what, _ in self.asked]

    @property
    def interpreter(self) -> Any:
        return live() | Say.handled_by(self)


def fails(*failures: Exception | Any) -> Callable[[], Any]:
    """Do one of these after the other: raise it, or answer it; the last one again and again."""
    left = list(failures)

    def next_one() -> Any:
        outcome = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return next_one


@attempt
def two() -> Any:
    first = yield from Say("first")
    second = yield from Say("second")
    return first, second


@durable(name="resumed", schedule=Constant(0.1))
def resumed() -> Any:
    return at(N2).resume(two())


def test_the_value_and_the_failure_are_those_of_the_program(tmp_path: Path) -> None:
    said = Said(second=fails(NotReady("later"), "there"))
    with working(tmp_path, said.interpreter, resumed) as engine:
        assert engine.start(resumed).result() == ("FIRST", "there")
        assert said.what == ["first", "second", "second"]
        said.table["second"] = fails(KeyError("missing"))
        with pytest.raises(KeyError, match="missing") as raised:
            engine.start(resumed).result()
        assert "ixbackoff: attempts made: 1, waits: 0, 0 s in all" in raised.value.__notes__


def test_a_result_is_awaited(tmp_path: Path) -> None:
    async def main(engine: AnyEngine) -> Any:
        return await engine.start(resumed).result_async()

    with working(tmp_path, Said().interpreter, resumed) as engine:
        assert asyncio.run(main(engine)) == ("FIRST", "SECOND")


def test_the_same_id_is_the_same_run(tmp_path: Path) -> None:
    said = Said()
    with working(tmp_path, said.interpreter, resumed) as engine:
        runs = [engine.start_as("copy 1", resumed) for _ in range(3)]
        assert [run.result() for run in runs] == [("FIRST", "SECOND")] * 3
    with working(tmp_path, said.interpreter, resumed) as engine:
        assert engine.start_as("copy 1", resumed).result() == ("FIRST", "SECOND")
    assert said.what == ["first", "second"]


def test_an_engine_that_is_closed_performs_nothing_and_the_next_goes_on(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def hangs() -> str:
        begun.set()
        assert go_on.wait(10)
        return "too late"

    said = Said(second=hangs)
    with working(tmp_path, said.interpreter, resumed) as engine:
        engine.start_as("one", resumed)
        assert begun.wait(10)
    go_on.set()
    again = Said()
    with working(tmp_path, again.interpreter, resumed) as engine:
        assert engine.start_as("one", resumed).result() == ("FIRST", "SECOND")
    assert again.asked == [("second", Asked("one:1", again=True))]
    assert said.asked[0] == ("first", Asked("one:0", again=False))


def test_handlers_may_be_awaited(tmp_path: Path) -> None:
    keys: list[Asked | None] = []

    async def say(command: Say) -> str:
        await asyncio.sleep(0)
        keys.append(asked())
        return command.what.upper()

    interpreter = live_async() | Say.awaited_by(say)
    with working(tmp_path, interpreter, resumed) as engine:
        assert engine.start_as("one", resumed).result() == ("FIRST", "SECOND")
    assert keys == [Asked("one:0", again=False), Asked("one:1", again=False)]


@durable(name="branches", schedule=Constant(0.1))
def branches() -> Any:
    return at(N1).retry(all_of([two(), do(Say("third"))]))


def test_branches_are_recorded_one_by_one(tmp_path: Path) -> None:
    said = Said(third=fails(Throttled(), "x"))
    with working(tmp_path, said.interpreter, branches) as engine:
        run = engine.start_as("one", branches)
        assert run.result() == [("FIRST", "SECOND"), "x"]
    keys = {one.key for _, one in said.asked if one is not None}
    assert {"one:0/0.0", "one:0/1.0", "one:2/0.0", "one:2/0.1", "one:2/1.0"} <= keys


def test_a_branch_beside_one_that_failed_cleans_up_once(tmp_path: Path) -> None:
    failed = threading.Event()

    @attempt
    def holding() -> Any:
        yield from Say("acquire")
        try:
            yield from Say("slow")
            yield from Say("never")
        finally:
            yield from Say("release")

    @durable(name="holding")
    def held() -> Any:
        return at(N0).do(all_of([holding(), do(Say("fail"))]))

    def fail() -> None:
        failed.set()
        raise KeyError("fail")

    def slow() -> None:
        assert failed.wait(10)
        time.sleep(0.1)

    said = Said(fail=fail, slow=slow)
    with working(tmp_path, said.interpreter, held) as engine:
        with pytest.raises(KeyError):
            engine.start_as("one", held).result()
        entries = [entry for _, entry in engine.store.steps("one") if entry is not None]
    assert Counter(said.what) == Counter(["acquire", "slow", "fail", "release"])
    assert [entry["at"] for entry in entries if "x" in entry] == ["0/0.2"]


@durable(name="limited", schedule=Constant(0.3), within=1.0)
def limited() -> Any:
    return at(N10).retry(Say("busy"))


def test_a_deadline_counts_the_time_in_which_nothing_runs(tmp_path: Path) -> None:
    said = Said(busy=fails(NotReady("busy")))
    with working(tmp_path, said.interpreter, limited) as engine:
        engine.start_as("one", limited)
        until(lambda: said.what)
    asked_before = len(said.what)
    time.sleep(1.0)
    with (
        working(tmp_path, said.interpreter, limited) as engine,
        pytest.raises((NotReady, TimeoutError)) as raised,
    ):
        engine.start_as("one", limited).result()
    assert asked_before == 1
    assert len(said.what) == 1
    assert "1 s" in str(raised.value) + str(raised.value.__notes__)


@durable(name="endless", schedule=Constant(0.05))
def endless() -> Any:
    return at(FOREVER).retry(Say("busy"))


def test_a_ladder_without_end_goes_on_until_it_is_well(tmp_path: Path) -> None:
    said = Said(busy=fails(*[NotReady()] * 8, "done"))
    with working(tmp_path, said.interpreter, endless) as engine:
        engine.start_as("one", endless)
        until(lambda: len(said.what) > 3)
    with working(tmp_path, said.interpreter, endless, hold=0.0) as engine:
        assert engine.start_as("one", endless).result() == "done"
        assert len(engine.store.stretches("one")) > 1
    assert len(said.what) in (9, 10)  # one may have been asked when the first engine was closed


def test_a_crash_gives_back_no_tokens_of_a_budget(tmp_path: Path) -> None:
    budget = Budget(2)

    def recipe(budget: Budget) -> Any:
        @durable(name="budget", schedule=Constant(0.3), budget=budget)
        def made() -> Any:
            return at(N10).retry(Say("busy"))

        return made

    said = Said(busy=fails(NotReady()))
    first = recipe(budget)
    with working(tmp_path, said.interpreter, first) as engine:
        engine.start_as("one", first)
        until(lambda: len(said.what) == 2)
    fresh = recipe(Budget(2))
    with (
        working(tmp_path, said.interpreter, fresh) as engine,
        pytest.raises(NotReady) as raised,
    ):
        engine.start_as("one", fresh).result()
    assert "ixbackoff: not tried again, the retry budget is empty" in raised.value.__notes__
    assert len(said.what) in (3, 4)  # the second one may have been asked as its engine was closed


def test_the_jitter_is_drawn_once(tmp_path: Path) -> None:
    @durable(name="jittered", schedule=Exponential(0.05).jittered())
    def jittered() -> Any:
        return at(N3).retry(Say("busy"))

    said = Said(busy=fails(NotReady(), NotReady(), NotReady(), "done"))
    for _ in range(3):
        with working(tmp_path, said.interpreter, jittered) as engine:
            engine.start_as("one", jittered)
            time.sleep(0.1)
    with working(tmp_path, said.interpreter, jittered) as engine:
        assert engine.start_as("one", jittered).result() == "done"
        entries = [entry for _, entry in engine.store.steps("one") if entry is not None]
        given = engine.store.given("one")
    waits = [entry["seconds"] for entry in entries if "seconds" in entry]
    schedule = Exponential(0.05).jittered().begin(Random(given["seed"]))  # noqa: S311
    assert waits == [schedule(number) for number in range(3)]


def test_what_is_drawn_is_drawn_once(tmp_path: Path) -> None:
    @durable(name="dice", schedule=Constant(0.2))
    def dice() -> Any:
        return at(N1).do(Pick(10**9)).wait().then(lambda number: call(str, number))

    with working(tmp_path, live(), dice) as engine:
        engine.start_as("one", dice)
        picked = until(lambda: [entry for _, entry in engine.store.steps("one") if entry][1:])
    with working(tmp_path, live(), dice) as engine:
        assert engine.start_as("one", dice).result() == str(picked[0]["a"])


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
        until(lambda: [one.status for one in engine.store.stretches("nap-2")][1:] == ["DELAYED"])
        assert [run.result()[0] for run in runs] == [0, 1, 2]
        assert time.monotonic() - begun < 1.5 * 3
        assert len(engine.store.stretches("nap-0")) == 2
    assert Counter(reasons)["parked"] == Counter(reasons)["well"] == 3


def has_steps(engine: AnyEngine, run: str, number: int) -> bool:
    return len(engine.store.steps(run)) >= number


def test_a_wait_is_not_shortened_when_somebody_sets_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @durable(name="nap", schedule=Constant(1.0))
    def nap() -> Any:
        return at(N1).do(call(time.monotonic)).wait().do(call(time.monotonic))

    real = time.time
    for shift in (3600.0, -3600.0):
        run = f"by {shift:g}"
        with working(tmp_path, live(), nap) as engine:
            engine.start_as(run, nap)
            until(partial(has_steps, engine, run, 3))
            began = engine.store.steps(run)[1][1]
        assert began is not None
        monkeypatch.setattr(time, "time", lambda shift=shift: real() + shift)
        with working(tmp_path, live(), nap) as engine:
            woke = engine.start_as(run, nap).result()
        monkeypatch.setattr(time, "time", real)
        assert 1.0 <= woke - began["a"] < 4.0


def test_after_a_start_of_the_machine_the_wall_clock_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @durable(name="nap", schedule=Constant(1.0))
    def nap() -> Any:
        return at(N1).wait().do(call(time.time))

    with working(tmp_path, live(), nap) as engine:
        began = time.time()
        engine.start_as("one", nap)
        until(lambda: len(engine.store.steps("one")) >= 2)
    for module in ("working", "performing"):
        name = f"ixbackoff.durable.{module}.since_boot"
        monkeypatch.setattr(name, lambda: Boot("another", 5.0))
    with working(tmp_path, live(), nap) as engine:
        assert engine.start_as("one", nap).result() - began >= 1.0
    assert clocks_of_runs.since_boot().id != "another"


def test_a_program_that_diverges_performs_nothing(tmp_path: Path) -> None:
    said = Said(second=lambda: time.sleep(60))

    def recipe(what: str) -> Any:
        @attempt
        def body() -> Any:
            try:
                yield from Say(what)
                yield from Say("wait for it")
                yield from Say("then")
            finally:
                yield from Say("cleaning up")

        @durable(name="changed", schedule=Constant(0.5))
        def changed() -> Any:
            return at(N1).do(do(Say("before"))).wait().do(body())

        return changed

    slow = threading.Event()
    said.table["wait for it"] = lambda: slow.wait(10)
    old, new = recipe("old"), recipe("new")
    with working(tmp_path, said.interpreter, old) as engine:
        engine.start_as("one", old)
        until(lambda: "wait for it" in said.what)
    slow.set()
    again = Said()
    with working(tmp_path, again.interpreter, new) as engine:
        with pytest.raises(Diverged, match=r"at 2 it issued Say\(what='new'\) where it had issued"):
            engine.start_as("one", new).result()
        engine.store.resume("one")
        with pytest.raises(Diverged):
            engine.start_as("one", new).result()
    assert again.what == []
    with working(tmp_path, again.interpreter, old) as engine:
        engine.store.resume("one")
        until(lambda: "cleaning up" in again.what)
        assert engine.start_as("one", old).result() is None
    assert again.what == ["wait for it", "then", "cleaning up"]


def test_an_answer_that_cannot_be_recorded_is_refused_at_once(tmp_path: Path) -> None:
    @durable(name="object", schedule=Constant(0.1))
    def unkept() -> Any:
        return at(N3).retry(Say("object"), on=Exception)

    said = Said(object=object)
    with (
        working(tmp_path, said.interpreter, unkept) as engine,
        pytest.raises(Unrecordable, match="object is neither plain data nor a dataclass"),
    ):
        engine.start_as("one", unkept).result()
    assert said.what == ["object"]


def test_a_cancelled_run_cleans_up_once(tmp_path: Path) -> None:
    @attempt
    def body() -> Any:
        try:
            yield from Say("slow")
            yield from Say("never")
        finally:
            yield from Say("cleaning up")

    @durable(name="cancelled")
    def cancelled() -> Any:
        return at(N1).retry(body())

    said = Said(slow=lambda: time.sleep(0.5))
    with working(tmp_path, said.interpreter, cancelled) as engine:
        run = engine.start_as("one", cancelled)
        until(lambda: said.what)
        engine.store.cancel("one")
        with pytest.raises(Stopped, match="run one was cancelled"):
            run.result()
        until(lambda: len(said.what) == 2)
    assert said.what == ["slow", "cleaning up"]


def test_a_run_is_cancelled_in_a_wait(tmp_path: Path) -> None:
    with working(tmp_path, Said(busy=fails(NotReady())).interpreter, limited) as engine:
        run = engine.start_as("one", limited)
        until(lambda: len(engine.store.steps("one")) >= 3)
        engine.store.cancel("one")
        with pytest.raises(Stopped):
            run.result()


def test_a_paused_run_cleans_up_nothing_and_goes_on(tmp_path: Path) -> None:
    @attempt
    def body() -> Any:
        try:
            yield from Say("slow")
            return (yield from Say("next"))
        finally:
            yield from Say("cleaning up")

    @durable(name="paused")
    def paused() -> Any:
        return at(N1).retry(body())

    said = Said(slow=lambda: time.sleep(0.4))
    with working(tmp_path, said.interpreter, paused) as engine:
        run = engine.start_as("one", paused)
        until(lambda: said.what)
        engine.store.pause("one")
        time.sleep(1.0)
        assert said.what == ["slow"]
        engine.store.resume("one")
        assert run.result() == "NEXT"
    assert said.what == ["slow", "slow", "next", "cleaning up"]
    assert [one.again for _, one in said.asked if one] == [False, True, False, False]


def test_observers_see_a_durable_run_with_its_id(tmp_path: Path) -> None:
    seen: list[tuple[str, Any]] = []
    with (
        working(tmp_path, Said().interpreter, resumed) as engine,
        observed(lambda event: seen.append((type(event).__name__, event.run.id))),
    ):
        engine.start_as("copy of a", resumed).result()
        until(lambda: seen[-1][0] == "Ended")
    assert seen == [
        (name, "copy of a")
        for name in ("Began", "Issued", "Answered", "Issued", "Answered", "Ended")
    ]


def test_a_test_without_waits_waits_for_no_durable_run(tmp_path: Path) -> None:
    @durable(name="long", schedule=Constant(30.0))
    def long() -> Any:
        return at(N1).do(call(str, 1)).wait().do(call(str, 2))

    with no_waits() as waits, working(tmp_path, live(), long) as engine:
        assert engine.start(long).result() == "2"
        assert [round(seconds) for seconds in waits.waited] == [30]


def test_what_is_stored_is_json(tmp_path: Path) -> None:
    with working(tmp_path, Said().interpreter, resumed) as engine:
        engine.start_as("one", resumed).result()
        for _, entry in engine.store.steps("one"):
            assert json.loads(json.dumps(entry)) == entry
