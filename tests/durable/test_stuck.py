"""A mistake of a deployment ends no run: the run is stuck until code that works takes it."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import pytest

from ixbackoff import (
    N0,
    N1,
    Constant,
    Diverged,
    NotReady,
    Stopped,
    Throw,
    all_of,
    at,
    attempt,
    do,
)
from ixbackoff.durable import Unrecordable, Workflow, durable
from ixbackoff.durable.performing import is_mistake

from ..support.durable.engines import Said, Say, fails, stuck, until, working

AnyWorkflow = Workflow[..., Any, Any, Any]


def order(body: Any) -> AnyWorkflow:
    return durable(name="order", schedule=Constant(0.5))(body)


def right(what: Any = None) -> Any:
    return at(N1).do(Say("before")).retry(Say("busy"))


def begun(folder: Path, workflow: AnyWorkflow) -> list[str]:
    """Start a run that fails once, and stop the engine in its wait."""
    said = Said(busy=fails(NotReady()))
    with working(folder, said.interpreter, workflow) as engine:
        engine.start_with_id("one", workflow)
        until(lambda: len(engine.store.steps("one")) == len(said.what) + 2)
    return said.what


def mended(folder: Path, workflow: AnyWorkflow) -> tuple[list[str], Any]:
    """What the run still performs with code that works, and its value."""
    said = Said()
    with working(folder, said.interpreter, workflow) as engine:
        value = engine.start_with_id("one", workflow).result()
    return said.what, value


def test_a_bug_that_stands_before_the_program(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def wrong() -> Any:
        return at(N1).do(Say(undefined))  # type: ignore[name-defined]  # noqa: F821

    assert begun(tmp_path, order(right)) == ["before", "busy"]
    caplog.set_level(logging.WARNING, "ixbackoff")
    with working(tmp_path, Said().interpreter, order(wrong)) as engine:
        assert stuck(engine, "one") == "stuck: NameError: name 'undefined' is not defined"
        assert engine.store.can_continue("one")
        assert not engine.store.forget("one")
        assert not engine.result_so_far("one")[0]
    assert "run one is stuck, until an engine has code that works: NameError" in caplog.text
    assert mended(tmp_path, order(right)) == (["busy"], "BUSY")


@attempt
def first_then_busy(wrong: bool) -> Any:
    first = yield from Say("first")
    if wrong:
        return first.undefined
    return (yield from Say("busy"))


def test_a_bug_between_two_commands(tmp_path: Path) -> None:
    begun(tmp_path, order(lambda: at(N1).resume(first_then_busy(False))))
    with working(
        tmp_path, Said().interpreter, order(lambda: at(N1).resume(first_then_busy(True)))
    ) as engine:
        assert "AttributeError: 'str' object has no attribute 'undefined'" in stuck(engine, "one")
    again = order(lambda: at(N1).resume(first_then_busy(False)))
    assert mended(tmp_path, again) == (["busy"], "BUSY")


def test_a_bug_in_a_branch_leaves_no_record(tmp_path: Path) -> None:
    def program(wrong: bool) -> AnyWorkflow:
        effects = [first_then_busy(wrong), do(Say("second"))]
        return order(lambda: at(N0).do(all_of(effects)))

    wrong = program(True)
    with working(tmp_path, Said().interpreter, wrong) as engine:
        engine.start_with_id("one", wrong)
        assert "AttributeError" in stuck(engine, "one")
    what, value = mended(tmp_path, program(False))
    assert (set(what) <= {"busy", "second"}, value) == (True, ["BUSY", "SECOND"])


def test_a_stuck_run_can_be_cancelled(tmp_path: Path) -> None:
    begun(tmp_path, order(right))
    wrong = order(lambda: at(N1).do(Say("other")).retry(Say("busy")))
    with working(tmp_path, Said().interpreter, wrong) as engine:
        assert "stuck: Diverged" in stuck(engine, "one")
        engine.store.cancel("one")
        with pytest.raises(Stopped):
            engine.start_with_id("one", wrong).result()
        assert engine.store.forget("one")


def test_a_stuck_run_can_be_paused(tmp_path: Path) -> None:
    begun(tmp_path, order(right))
    wrong = order(lambda: at(N1).do(Say("other")).retry(Say("busy")))
    with working(tmp_path, Said().interpreter, wrong) as engine:
        assert "stuck: Diverged" in stuck(engine, "one")
        engine.store.pause("one")
    said = Said()
    with working(tmp_path, said.interpreter, order(right)) as engine:
        run = engine.run("one")
        time.sleep(0.5)
        assert (run.summary.state, said.what) == ("paused", [])
        assert run.resume()
        assert (run.result(), said.what) == ("BUSY", ["busy"])


def test_a_run_whose_workflow_nobody_has_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    begun(tmp_path, order(right))
    caplog.set_level(logging.WARNING, "ixbackoff")
    renamed = durable(name="renamed")(right)
    with working(tmp_path, Said().interpreter, renamed):
        until(lambda: "no worker has the workflow order, for which 1 runs wait" in caplog.text)
    assert mended(tmp_path, order(right)) == (["busy"], "BUSY")


class OutOfStock(Exception):
    pass


def test_a_program_that_fails_on_purpose_ends(tmp_path: Path) -> None:
    @attempt
    def body(how: str) -> Any:
        yield from Say("first")
        if how == "its own class":
            raise OutOfStock
        if how == "a command":
            yield from Throw(KeyError("book"))
        try:
            yield from Say("missing")
        except LookupError as failure:
            raise ValueError("no such book") from failure

    workflow = durable(name="fails")(lambda how: at(N0).do(body(how)))
    with working(tmp_path, Said(missing=fails(LookupError())).interpreter, workflow) as engine:
        for how, kind in {
            "its own class": OutOfStock,
            "a command": KeyError,
            "raised from a failure": ValueError,
        }.items():
            with pytest.raises(kind):
                engine.start(workflow, how).result()


def test_mistakes() -> None:
    for mistake in (NameError(), TypeError(), KeyError(), Diverged(), Unrecordable()):
        assert is_mistake(mistake)
    for failure in (NotReady(), TimeoutError(), OutOfStock(), ExceptionGroup("", [KeyError()])):
        assert not is_mistake(failure)
