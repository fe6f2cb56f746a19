"""Code that changes between two processes of a run: the table of docs/durable.md."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import field, make_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from ixbackoff import N1, N2, Constant, at, call
from ixbackoff._running.boot_clock import Boot, since_boot
from ixbackoff.durable import Workflow, clocks, durable, performing, unperformed_runs

from ..support.durable.engines import Said, Say, stuck, until, working

AnyWorkflow = Workflow[..., Any, Any, Any]
PAGE = Path(__file__).parents[2] / "docs" / "durable.md"
MODULE = "ixbackoff_deployed"
GOES_ON, STUCK, WAITS = "continues", "is stuck", "waits, and the log says so"
WAIT = 30.0  # seconds of a wait, which are over when the code has changed


class Version(NamedTuple):
    """One version of the code of a workflow, whose argument is an instance of `item`."""

    item: type
    make: Callable[..., Any]
    name: str = "order"
    schedule: float = WAIT
    answer: type | None = None


def dataclass_of(name: str, *fields: Any) -> type:
    made = make_dataclass(name, fields)
    made.__module__ = MODULE
    return made


def function_of(name: str) -> Any:
    def function(what: str) -> str:
        return what

    function.__module__, function.__qualname__ = MODULE, name
    return function


Item = dataclass_of("Item", ("name", str))
Receipt = dataclass_of("Receipt", ("number", int))
ship, send = function_of("ship"), function_of("send")


def program(item: Any, *, before: Any = None, last: Any = None, to: Any = ship) -> Any:
    """Two commands that are answered before the wait, and one after it."""
    began = at(N1) if before is None else at(N1).do(before)
    ended = began.do(Say("answer")).do(call(to, item.name)).wait().do(Say("after"))
    return ended if last is None else ended.do(last)


def buggy(item: Any) -> Any:
    return program(item.nothing)


def demanding(item: Any, more: Any) -> Any:
    raise NotImplementedError


def longer(item: Any) -> Any:
    return at(N2).do(Say("answer")).do(call(ship, item.name)).wait().do(Say("after")).end()


OLD = Version(Item, program)
CHANGES: dict[str, tuple[Version, str]] = {
    "a field of an argument is added, with a default": (
        Version(dataclass_of("Item", ("name", str), ("more", int, field(default=1))), program),
        GOES_ON,
    ),
    "a field is added without a default": (
        Version(dataclass_of("Item", ("name", str), ("more", int)), program),
        STUCK,
    ),
    "a field is removed that the program does not use": (
        Version(dataclass_of("Item", ("name", str)), program),
        GOES_ON,
    ),
    "a field is removed that the program uses": (
        Version(dataclass_of("Item", ("more", int, field(default=1))), program),
        STUCK,
    ),
    "a field is renamed": (
        Version(dataclass_of("Item", ("title", str)), lambda item: program(item)),
        STUCK,
    ),
    "the function of a `call` is renamed": (
        Version(Item, lambda item: program(item, to=send)),
        STUCK,
    ),
    "the class of an argument is renamed": (
        Version(dataclass_of("Thing", ("name", str)), program),
        STUCK,
    ),
    "the class of an answer is renamed": (
        Version(Item, program, answer=dataclass_of("Bill", ("number", int))),
        STUCK,
    ),
    "the workflow is renamed": (Version(Item, program, name="renamed"), WAITS),
    "a required argument is added": (Version(Item, demanding), STUCK),
    "an argument with a default is added": (
        Version(Item, lambda item, more=1: program(item)),
        GOES_ON,
    ),
    "a bug is added": (Version(Item, buggy), STUCK),
    "a step is added before the recorded ones": (
        Version(Item, lambda item: program(item, before=Say("first"))),
        STUCK,
    ),
    "a step is added behind the recorded ones": (
        Version(Item, lambda item: program(item, last=Say("after"))),
        GOES_ON,
    ),
    "the schedule is changed": (Version(Item, program, schedule=1.5 * WAIT), STUCK),
    "the ladder is changed": (Version(Item, longer), STUCK),
}


def deployed(version: Version, monkeypatch: pytest.MonkeyPatch) -> AnyWorkflow:
    """Put a version into its module; return its workflow."""
    module = ModuleType(MODULE)
    for kind in (version.item, version.answer or Receipt):
        setattr(module, kind.__name__, kind)
    monkeypatch.setitem(sys.modules, MODULE, module)
    schedule = Constant(version.schedule)
    return durable(name=version.name, schedule=schedule)(version.make)


def let_the_wait_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def later() -> Boot:
        now = since_boot()
        return now._replace(seconds=now.seconds + 2 * WAIT)

    for module in clocks, performing:
        monkeypatch.setattr(module, "since_boot", later)


@pytest.mark.slow
@pytest.mark.parametrize("hold", [60, 0], ids=["held", "parked"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_ends_no_run(
    change: str,
    hold: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    new, expected = CHANGES[change]
    item = Item
    if "removed that the program does not use" in change:
        item = dataclass_of("Item", ("name", str), ("more", int, field(default=1)))
    said = Said(answer=lambda: Receipt(1), after=lambda: "done")
    old = deployed(OLD._replace(item=item), monkeypatch)
    with working(tmp_path, said.interpreter, old, hold=hold) as engine:
        engine.start_with_id("one", old, item("book"))
        until(lambda: len(engine.store.segments("one")) > 1 or len(engine.store.steps("one")) > 3)
    assert said.what == ["answer"]
    let_the_wait_end(monkeypatch)
    monkeypatch.setattr(unperformed_runs, "ROUND", 0.3)
    changed = deployed(new, monkeypatch)
    with working(tmp_path, said.interpreter, changed, hold=hold) as engine:
        if expected == GOES_ON:
            assert until(lambda: engine.result_so_far("one")[0])
        elif expected == STUCK:
            assert stuck(engine, "one")
        else:
            until(lambda: "no worker has the workflow order" in caplog.text)
    if expected == GOES_ON:
        return
    assert said.what == ["answer"]
    old = deployed(OLD._replace(item=item), monkeypatch)
    with working(tmp_path, said.interpreter, old, hold=hold) as engine:
        assert engine.start_with_id("one", old, item("book")).result() == "done"
    assert said.what == ["answer", "after"]


def test_the_page_has_the_table() -> None:
    page = PAGE.read_text()
    for change, (_, expected) in CHANGES.items():
        assert f"| {change} | {expected} |" in page
