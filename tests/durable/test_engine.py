"""Durable runs on a file of SQLite: from one engine to the next they go on where they were."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ixbackoff import (
    N0,
    N1,
    N2,
    N3,
    Constant,
    NotReady,
    Pick,
    Throttled,
    all_of,
    at,
    attempt,
    call,
    do,
)
from ixbackoff.durable import CurrentCommand, Unrecordable, current_command, durable
from ixbackoff.live import live, live_async
from ixbackoff.observing import Answered, Event, observed

from ..support.durable.engines import AnyEngine, Said, Say, fails, until, working


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
        assert "ixbackoff: tries: 1, waits: 0, 0 s in all" in raised.value.__notes__


def test_a_result_is_awaited(tmp_path: Path) -> None:
    async def main(engine: AnyEngine) -> Any:
        return await engine.start(resumed).result_async()

    with working(tmp_path, Said().interpreter, resumed) as engine:
        assert asyncio.run(main(engine)) == ("FIRST", "SECOND")


def test_the_same_id_is_the_same_run(tmp_path: Path) -> None:
    said = Said()
    with working(tmp_path, said.interpreter, resumed) as engine:
        runs = [engine.start_with_id("copy 1", resumed) for _ in range(3)]
        assert [run.result() for run in runs] == [("FIRST", "SECOND")] * 3
    with working(tmp_path, said.interpreter, resumed) as engine:
        assert engine.start_with_id("copy 1", resumed).result() == ("FIRST", "SECOND")
    assert said.what == ["first", "second"]


def test_an_engine_that_is_closed_performs_nothing_and_the_next_goes_on(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def hangs() -> str:
        begun.set()
        assert go_on.wait(10)
        return "too late"

    said = Said(second=hangs)
    with working(tmp_path, said.interpreter, resumed) as engine:
        engine.start_with_id("one", resumed)
        assert begun.wait(10)
    go_on.set()
    again = Said()
    with working(tmp_path, again.interpreter, resumed) as engine:
        assert engine.start_with_id("one", resumed).result() == ("FIRST", "SECOND")
    assert again.places == [("second", "one:1", True)]
    assert said.places[0] == ("first", "one:0", False)


@durable(name="counting")
def counting() -> Any:
    @attempt
    def ten() -> Any:
        for number in range(10):
            yield from Say(str(number))
        return "counted"

    return at(N0).do(ten())


def test_commands_in_a_row_end_where_the_engine_is_closed(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def hangs() -> str:
        begun.set()
        assert go_on.wait(10)
        return "too late"

    said = Said(**{"4": hangs})
    with working(tmp_path, said.interpreter, counting) as engine:
        engine.start_with_id("one", counting)
        assert begun.wait(10)
    go_on.set()
    again = Said()
    with working(tmp_path, again.interpreter, counting) as engine:
        assert engine.start_with_id("one", counting).result() == "counted"
    assert said.what == ["0", "1", "2", "3", "4"]
    assert again.what == ["4", "5", "6", "7", "8", "9"]
    assert [one for one in again.places if one[2]] == [("4", "one:4", True)]


def test_a_program_that_computes_holds_up_no_other_run(tmp_path: Path) -> None:
    opened = threading.Event()

    @durable(name="waits for the other")
    def waits() -> Any:
        return at(N0).do(Say("begin")).map(lambda _: opened.wait(10))

    @durable(name="opens")
    def opens() -> Any:
        return at(N0).do(Say("begin")).map(lambda _: opened.set())

    with working(tmp_path, Said().interpreter, waits, opens) as engine:
        held = engine.start(waits)
        engine.start(opens).result()
        assert held.result() is True


def test_handlers_may_be_awaited(tmp_path: Path) -> None:
    keys: list[CurrentCommand | None] = []

    async def say(command: Say) -> str:
        await asyncio.sleep(0)
        keys.append(current_command())
        return command.what.upper()

    interpreter = live_async() | Say.awaited_by(say)
    with working(tmp_path, interpreter, resumed) as engine:
        assert engine.start_with_id("one", resumed).result() == ("FIRST", "SECOND")
    assert [(one.place, one.repeated) for one in keys if one is not None] == [
        ("one:0", False),
        ("one:1", False),
    ]


@durable(name="branches", schedule=Constant(0.1))
def branches() -> Any:
    return at(N1).retry(all_of([two(), do(Say("third"))]))


def test_branches_are_recorded_one_by_one(tmp_path: Path) -> None:
    said = Said(third=fails(Throttled(), "x"))
    with working(tmp_path, said.interpreter, branches) as engine:
        run = engine.start_with_id("one", branches)
        assert run.result() == [("FIRST", "SECOND"), "x"]
    keys = {one.place for _, one in said.asked if one is not None}
    assert {"one:0/0.0", "one:0/1.0", "one:2/0.0", "one:2/0.1", "one:2/1.0"} <= keys


@pytest.mark.parametrize(
    ("during", "said_before", "place"),
    [("acquire", ["acquire"], "0/0.1"), ("slow", ["acquire", "slow"], "0/0.2")],
)
def test_a_branch_beside_one_that_failed_cleans_up_once(
    during: str, said_before: list[str], place: str, tmp_path: Path
) -> None:
    begun, aborted = threading.Event(), threading.Event()

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

    def slow() -> None:
        begun.set()
        assert aborted.wait(10)

    def fail() -> None:
        assert begun.wait(10)
        raise KeyError("fail")

    def see(event: Event) -> None:
        if isinstance(event, Answered) and isinstance(event.failure, KeyError):
            aborted.set()  # the event loop aborts the other branch before it does anything else

    said = Said(**{"fail": fail, during: slow})
    with working(tmp_path, said.interpreter, held) as engine, observed(see):
        with pytest.raises(KeyError):
            engine.start_with_id("one", held).result()
        entries = [entry for _, entry in engine.store.steps("one") if entry is not None]
    assert Counter(said.what) == Counter([*said_before, "fail", "release"])
    assert [entry["at"] for entry in entries if "x" in entry] == [place]


def test_what_is_drawn_is_drawn_once(tmp_path: Path) -> None:
    @durable(name="dice", schedule=Constant(0.2))
    def dice() -> Any:
        return at(N1).do(Pick(10**9)).wait().then(lambda number: call(str, number))

    with working(tmp_path, live(), dice) as engine:
        engine.start_with_id("one", dice)
        picked = until(lambda: [entry for _, entry in engine.store.steps("one") if entry][1:])
    with working(tmp_path, live(), dice) as engine:
        assert engine.start_with_id("one", dice).result() == str(picked[0]["a"])


def test_an_answer_that_cannot_be_recorded_is_refused_at_once(tmp_path: Path) -> None:
    @durable(name="object", schedule=Constant(0.1))
    def unkept() -> Any:
        return at(N3).retry(Say("object"), on=Exception)

    said = Said(object=object)
    with (
        working(tmp_path, said.interpreter, unkept) as engine,
        pytest.raises(Unrecordable, match="object is neither plain data nor a dataclass"),
    ):
        engine.start_with_id("one", unkept).result()
    assert said.what == ["object"]


def test_observers_see_a_durable_run_with_its_id(tmp_path: Path) -> None:
    seen: list[tuple[str, Any]] = []
    with (
        working(tmp_path, Said().interpreter, resumed) as engine,
        observed(lambda event: seen.append((type(event).__name__, event.run.id))),
    ):
        engine.start_with_id("copy of a", resumed).result()
        until(lambda: seen[-1][0] == "Ended")
    assert seen == [
        (name, "copy of a")
        for name in ("Began", "Issued", "Answered", "Issued", "Answered", "Ended")
    ]


def test_what_is_stored_is_json(tmp_path: Path) -> None:
    with working(tmp_path, Said().interpreter, resumed) as engine:
        engine.start_with_id("one", resumed).result()
        for _, entry in engine.store.steps("one"):
            assert json.loads(json.dumps(entry)) == entry
