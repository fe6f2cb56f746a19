"""Wrong arguments: each is told in one sentence that says what to do, before anything is stored."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from ixbackoff import N1, CircuitBreaker, Log, Misuse, Now, at, backoff, call, do
from ixbackoff.durable import Engine, Unrecordable, Workflow, durable
from ixbackoff.live import live

from ..support.durable.engines import url_in, working

untyped: Any = durable


@durable(name="hello")
def hello(name: str) -> Any:
    return at(N1).retry(call(str.title, name))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"name": ""}, "give a string that is not empty"),
        ({"name": 3}, "give a string that is not empty"),
        ({"schedule": [1, 2]}, "Schedule"),
        ({"within": "soon"}, "within='soon': give a finite number of seconds, or a timedelta"),
        ({"budget": 3}, "budget=3 is not a budget"),
        ({"rate": (10, float("inf"))}, r"rate=\(10, inf\): give a number of runs, and seconds"),
    ],
)
def test_an_argument_of_durable(arguments: Any, said: str) -> None:
    with pytest.raises((TypeError, ValueError), match=said):
        untyped(**arguments)


@pytest.mark.parametrize("rate", [3, "ab", (), (1,), (1, 2, 3), (1, "b"), (2.5, 60), {1: 2}])
def test_a_rate_that_is_no_pair_of_numbers(rate: Any) -> None:
    said = f"rate={rate!r}: give a number of runs, and seconds, such as (10, 60)."
    with pytest.raises(Misuse, match=f"^{re.escape(said)}$"):
        durable(rate=rate)


def test_what_is_decorated() -> None:
    async def later() -> None: ...

    with pytest.raises(Misuse, match=r"give a function that returns a program"):
        untyped(name="a")(later)
    with pytest.raises(Misuse, match=r"give a function that returns a program"):
        untyped(name="a")(3)
    with pytest.raises(Misuse, match=r"has no name that another process finds: give durable\(name"):
        untyped()(lambda: None)


@pytest.mark.parametrize(
    ("arguments", "settings", "said"),
    [
        ((live,), {}, r"give an interpreter, and the workflows after it"),
        ((live(),), {}, r"An engine without workflows has nothing to do"),
        ((live(), call), {}, r"is not a workflow: decorate the function with @durable\(\)"),
        ((live(), hello, hello), {}, r"Two workflows are called hello: give them distinct names"),
        ((live(), hello), {"database": "mysql://localhost"}, r"database=\.\.\.: give the URL"),
        ((live(), hello), {"database": None}, r"database=\.\.\.: give the URL of a file"),
        ((live(), hello), {"database": "sqlite:///"}, r"database=\.\.\.: give the URL of a file"),
        ((live(), hello), {"database": "sqlite:///:memory:"}, "give the URL of a file"),
        ((live(), hello), {"hold": -1}, "hold=-1: give seconds, 0 or more"),
        ((live(), hello), {"hold": float("nan")}, "hold=nan: give seconds, 0 or more"),
        ((live(), hello), {"concurrency": 0}, "concurrency=0: give a whole number, 1 or more"),
    ],
)
def test_an_argument_of_an_engine(arguments: Any, settings: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises((Misuse, ValueError), match=said):
        Engine(*arguments, **({"database": url_in(tmp_path)} | settings))


def made(program: Any) -> Workflow[Any, Any, Any, Any]:
    @durable(name="made")
    def workflow() -> Any:
        return program

    return workflow


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (3, "returned 3: return a program"),
        (at(N1).do(Log("a")), r"The program is open, it ends at N1"),
        (
            at(N1).retry(do(Log("a")).guarded(CircuitBreaker(failures=1, within=1, open_for=1))),
            "breaker",
        ),
        (
            backoff(N1, breaker=CircuitBreaker(failures=1, within=1, open_for=1)).program(print),
            "has a circuit breaker, whose state is not in the journal: instead, guard the client",
        ),
        (backoff(N1, stop=Event()).program(print), "has a stop=, which other processes cannot see"),
    ],
)
def test_a_program_that_cannot_be_run_durably(program: Any, said: str, tmp_path: Path) -> None:
    workflow = made(program)
    with working(tmp_path, live(), workflow, worker=False) as engine:
        with pytest.raises(Misuse, match=said):
            engine.start(workflow)
        assert engine.store.last("") is None


def test_a_missing_handler(tmp_path: Path) -> None:
    workflow = made(at(N1).retry(Log("a")))
    nothing = Now.handled_by(lambda command: 0.0)
    with (
        working(tmp_path, nothing, workflow, worker=False) as engine,
        pytest.raises(Misuse, match="No handler for Delay"),
    ):
        engine.start(workflow)


@pytest.mark.parametrize("run", ["", " ", "a#1", "a\nb", "x" * 201, 3])
def test_an_id(run: Any, tmp_path: Path) -> None:
    with (
        working(tmp_path, live(), hello, worker=False) as engine,
        pytest.raises(Misuse, match="give a string of 1 to 200 printable characters without"),
    ):
        engine.start_with_id(run, hello, "world")


def test_a_run(tmp_path: Path) -> None:
    other = made(at(N1).retry(Log("a")))
    with working(tmp_path, live(), hello, other, worker=False) as engine:
        with pytest.raises(Misuse, match="is not a workflow of this engine: give it to Engine"):
            engine.start(made(3))
        with pytest.raises(Misuse, match="is not a workflow of this engine"):
            engine.start_many(lambda name: at(N1).retry(Log(name)), {"a": "a"})
        with pytest.raises(Unrecordable, match="object is neither plain data nor a dataclass"):
            engine.start(hello, object())  # type: ignore[arg-type]
        engine.start_with_id("one", hello, "world")
        with pytest.raises(Misuse, match="Run one is a run of the workflow hello, not of made"):
            engine.start_with_id("one", other)


def test_two_engines_that_work(tmp_path: Path) -> None:
    with working(tmp_path, live(), hello):
        with pytest.raises(Misuse, match="Another engine works in this process: give it all"):
            Engine(live(), hello, database=url_in(tmp_path))
        with Engine(live(), hello, database=url_in(tmp_path), worker=False) as client:
            assert client.start(hello, "world").result() == "World"


@pytest.mark.slow
def test_a_workflow_that_was_changed_is_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = made(at(N1).retry(call(str, 1)))
    after = made(at(N1).do(call(str, 1)).wait().end())
    with working(tmp_path, live(), before, worker=False) as engine:
        engine.start_with_id("one", before)
    with caplog.at_level(logging.WARNING), working(tmp_path, live(), after) as engine:
        engine.start_with_id("one", after).result()
    assert (
        "made was changed since run one began: the run continues as long as it agrees"
        in caplog.text
    )
