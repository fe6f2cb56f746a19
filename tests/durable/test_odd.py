"""Odd things that handlers and callers do: none of them stops the other runs of an engine."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dbos._sys_db import SystemDatabase
from sqlalchemy.exc import OperationalError

from ixbackoff import N0, N1, Constant, Misuse, Stopped, at, attempt
from ixbackoff.durable import durable
from ixbackoff.live import live_async

from ..support.durable.engines import MOMENT, Said, Say, until, working


@durable(name="say", schedule=Constant(0.1))
def say(what: str) -> Any:
    return at(N1).retry(Say(what))


@attempt
def steps(number: int) -> Any:
    for step in range(number):
        yield from Say(str(step))
    return number


@durable(name="many")
def many(number: int) -> Any:
    return at(N0).do(steps(number))


@attempt
def leaving() -> Any:
    try:
        yield from Say("before")
        sys.exit(3)
    finally:
        yield from Say("cleaning up")


@durable(name="exiting")
def exiting() -> Any:
    return at(N1).retry(leaving())


class Odd(BaseException): ...


def raises(failure: BaseException) -> Callable[[], Any]:
    def handler() -> Any:
        raise failure

    return handler


@pytest.mark.parametrize("awaited", [False, True])
def test_a_handler_that_raises_what_ends_a_process_fails_its_run_only(
    awaited: bool, tmp_path: Path
) -> None:
    said = Said()

    async def answer(command: Say) -> Any:
        await asyncio.sleep(0)
        return said(command)

    interpreter = live_async() | Say.awaited_by(answer) if awaited else said.interpreter
    with working(tmp_path, interpreter, say) as engine:
        for stop in (SystemExit(3), KeyboardInterrupt(), Odd("odd")):
            said.table["stop"] = raises(stop)
            with pytest.raises(RuntimeError) as raised:
                engine.start(say, "stop").result()
            assert str(raised.value) == (
                f"The handler of Say(what='stop') raised {stop!r}, which does not end an engine: "
                "let the handler return, or raise an Exception."
            )
            assert engine.start(say, "next").result() == "NEXT"


def test_a_program_that_exits_fails_its_run_only_and_cleans_up(tmp_path: Path) -> None:
    said = Said()
    with working(tmp_path, said.interpreter, exiting, say) as engine:
        with pytest.raises(RuntimeError, match=r"SystemExit\(3\)"):
            engine.start(exiting).result()
        assert engine.start(say, "next").result() == "NEXT"
    assert said.what == ["before", "cleaning up", "next"]


@pytest.mark.slow
def test_a_run_of_many_steps_goes_on_in_their_midst(tmp_path: Path) -> None:
    said = Said()
    with working(tmp_path, said.interpreter, many) as engine:
        engine.start_with_id("one", many, 250)
        until(lambda: len(said.what) > 50)
    before = len(said.what)
    with working(tmp_path, said.interpreter, many) as engine:
        assert engine.start_with_id("one", many, 250).result() == 250
    assert before < 250
    assert len(said.what) in (250, 251)


def test_any_text_is_an_argument_and_an_answer(tmp_path: Path) -> None:
    with working(tmp_path, Said().interpreter, say) as engine:
        texts = ("\udcff", "\0", "\U0001f40d ☃", "{'$': 1}", "x" * 5_000_000)
        for number, text in enumerate(texts):
            run = engine.start_with_id(f"läuft 🐍 {number}", say, text)
            assert run.result() == text.upper()


def test_an_answer_may_be_an_exception(tmp_path: Path) -> None:
    with working(tmp_path, Said(it=lambda: ValueError("as a value")).interpreter, say) as engine:
        answer = engine.start(say, "it").result()
    assert (type(answer), answer.args) == (ValueError, ("as a value",))


def test_the_same_id_is_the_same_run_with_other_arguments_too(tmp_path: Path) -> None:
    said = Said()
    with working(tmp_path, said.interpreter, say) as engine:
        assert engine.start_with_id("one", say, "a").result() == "A"
        assert engine.start_with_id("one", say, "b").result() == "A"
        assert engine.start_many(say, {"one": "c"})[0].result() == "A"
        assert engine.start_many(say, {}) == []
    assert said.what == ["a"]


def test_a_cancelled_run_has_no_result_later_either(tmp_path: Path) -> None:
    with working(tmp_path, Said().interpreter, say, worker=False) as engine:
        run = engine.start_with_id("one", say, "a")
        engine.store.cancel("one")
        for again in (run, engine.start_with_id("one", say, "a")):
            with pytest.raises(Stopped, match="run one was cancelled"):
                again.result()


@pytest.mark.slow
def test_the_runs_of_a_workflow_that_is_not_there_wait_for_it(tmp_path: Path) -> None:
    @durable(name="say 2")
    def renamed(what: str) -> Any:
        return at(N1).retry(Say(what))

    said = Said(slow=lambda: time.sleep(0.3))
    with working(tmp_path, said.interpreter, say) as engine:
        engine.start_with_id("begun", say, "slow")
        until(lambda: said.what)
    with working(tmp_path, said.interpreter, say, worker=False) as engine:
        engine.start_with_id("queued", say, "a")
    said.table = {}
    with working(tmp_path, said.interpreter, renamed) as engine:
        with pytest.raises(Misuse, match="Run begun is a run of the workflow say, not of say 2"):
            engine.start_with_id("begun", renamed, "slow")
        assert engine.start(renamed, "b").result() == "B"
        time.sleep(6 * MOMENT)
    assert said.what == ["slow", "b"]
    with working(tmp_path, said.interpreter, say, renamed) as engine:
        assert engine.start_with_id("begun", say, "slow").result() == "SLOW"
        assert engine.start_with_id("queued", say, "a").result() == "A"


def test_an_end_that_the_database_failed_to_keep_is_not_a_failure_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep = SystemDatabase.update_workflow_outcome
    failed: list[str] = []

    def failing(self: Any, run: str, status: Any, **outcome: Any) -> Any:
        if not failed:
            failed.append(status)
            raise OperationalError("update", {}, Exception("the disk is full"))
        return keep(self, run, status, **outcome)  # that of the failure, in truth

    monkeypatch.setattr(SystemDatabase, "update_workflow_outcome", failing)
    said = Said()
    with working(tmp_path, said.interpreter, say) as engine:
        assert engine.start(say, "a").result() == "A"
    assert failed == ["SUCCESS"]
    assert said.what == ["a"]
