"""Each `on` of a durable run is asked of the failure as it was raised, before it is recorded."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from ixbackoff import (
    N0,
    N1,
    N2,
    Constant,
    Delay,
    Do,
    Program,
    Throttled,
    all_of,
    at,
    attempt,
    do,
    first_of,
    known,
)
from ixbackoff._meaning.run_defaults import Defaults
from ixbackoff.testing.exploring import Model, dies

from ..support.clients.tries import failure_of
from ..support.durable.chosen import answered, chosen_run
from ..support.durable.engines import Said, Say, fails, until, url_in, working
from ..support.durable.journals import Memory, durably
from ..support.processes import Child

ROOT = Path(__file__).parents[2]
HOW = Defaults(Constant(0.1))


def status(*wanted: int) -> Callable[[Exception], bool]:
    def chosen(failure: Exception) -> bool:
        return isinstance(failure, httpx.HTTPStatusError) and failure.response.status_code in wanted

    return chosen


def busy() -> Said:
    return Said(busy=fails(answered(503)), missing=fails(answered(404)))


BUSY, MISSING, WELL = Say("busy"), Say("missing"), Say("well")


@attempt
def cleaned_up() -> Do[Say, Any]:
    try:
        return (yield from BUSY)
    finally:
        yield from Say("clean up")


PROGRAMS: dict[str, Callable[[], Program[Any, Any, Any, Any]]] = {
    "retry": lambda: at(N2).retry(BUSY, on=status(503)),
    "not retried": lambda: at(N2).retry(BUSY, on=status(404)),
    "or_else": lambda: at(N0).do(MISSING).or_else(WELL, on=status(404)),
    "several or_else": lambda: (
        at(N0).do(MISSING).or_else(BUSY, on=status(503)).or_else(WELL, on=status(404))
    ),
    "or_bind": lambda: (
        at(N1).do(MISSING).or_bind(lambda _: at(N1).retry(BUSY, on=status(503)), on=status(404))
    ),
    "backoff, then or_else": lambda: (
        at(N1).do(MISSING).backoff(on=status(404, 5)).or_else(WELL, on=status(404, 6))
    ),
    "backoff that passes over": lambda: (
        at(N2).do(MISSING).backoff(on=status(503)).backoff(on=status(404)).or_else(WELL)
    ),
    "in an attempt": lambda: at(N1).retry(
        do(MISSING).or_else(BUSY, on=status(404)), on=status(503)
    ),
    "retry_with": lambda: at(N1).retry_with(lambda n: MISSING if n else BUSY, on=status(404)),
    "resume": lambda: at(N2).resume(
        do(WELL).then(lambda _: do(MISSING).or_else(BUSY, on=status(404))), on=status(503)
    ),
    "first_of": lambda: at(N0).do(first_of([MISSING, BUSY, WELL], start=0, on=status(404, 503))),
    "first_of that ends": lambda: at(N0).do(first_of([BUSY, WELL], start=0, on=status(404))),
    "all_of": lambda: (
        at(N1)
        .retry(all_of(WELL, do(MISSING).or_else(BUSY, on=status(404))), on=status(503))
        .or_else(WELL, on=httpx.HTTPStatusError)
    ),
    "bind": lambda: (
        at(N1).do(WELL).bind(lambda _: at(N1).retry(BUSY, on=status(503))).or_else(WELL)
    ),
    "a limit": lambda: at(N1).retry(do(BUSY).limit(5), on=status(503)),
    "a cleanup between": lambda: at(N1).retry(cleaned_up(), on=status(503)),
}


def ends(run: Callable[[], Any]) -> tuple[Any, ...]:
    """The value; or the notes on the failure, apart from those of the codec."""
    try:
        return "well", json.loads(json.dumps(run()))
    except Exception as failure:
        notes = [str(note) for note in getattr(failure, "__notes__", ())]
        return str(failure), [note for note in notes if not note.startswith("recorded as")]


def ended_durably(name: str, journal: Memory) -> tuple[list[str], tuple[Any, ...]]:
    said = busy()
    end = ends(lambda: durably(PROGRAMS[name](), said.interpreter, HOW, journal))
    return said.what, end


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_run_takes_the_same_way_as_without_a_journal_wherever_it_is_killed(name: str) -> None:
    said = busy()
    quick = said.interpreter | Delay.handled_by(lambda _: None)
    expected = ends(lambda: PROGRAMS[name]().run(quick, schedule=HOW.schedule))
    whole = Memory()
    assert ended_durably(name, whole) == (said.what, expected)
    for length in range(1, len(whole.kept)):
        again = Memory(whole.kept[:length])
        assert ended_durably(name, again)[1] == expected
        assert sorted(again.entries) == sorted(whole.entries)


def test_each_on_is_asked_once_of_the_failure_itself() -> None:
    asked: list[tuple[str, type[Exception]]] = []

    def asks(name: str) -> Callable[[Exception], bool]:
        def chosen(failure: Exception) -> bool:
            asked.append((name, type(failure)))
            return name == "outer"

        return chosen

    program = at(N1).retry(do(BUSY).or_else(WELL, on=asks("inner")), on=asks("outer"))
    journal = Memory()
    failure_of(lambda: durably(program, busy().interpreter, HOW, journal))
    once = [("inner", httpx.HTTPStatusError), ("outer", httpx.HTTPStatusError)]
    assert asked == once * 2
    failure_of(lambda: durably(program, busy().interpreter, HOW, Memory(journal.kept[:1])))
    assert asked == once * 3


def test_steps_can_be_appended_while_runs_go_on() -> None:
    journal = Memory()
    before = at(N1).retry(BUSY, on=status(503)).or_else(MISSING, on=status(1))
    failure_of(lambda: durably(before, busy().interpreter, HOW, journal))
    after = before.or_else(WELL, on=status(503))
    for length in range(1, len(journal.kept)):
        kept = Memory(journal.kept[:length])
        assert durably(after, busy().interpreter, HOW, kept) == "WELL"


def test_an_on_that_raises_an_exception_is_asked_again_of_what_was_recorded() -> None:
    def picky(failure: Any) -> bool:
        return bool(1 / (failure.response.status_code - 503))

    def failed(journal: Memory) -> Exception:
        program = at(N1).retry(BUSY, on=picky)
        return failure_of(lambda: durably(program, busy().interpreter, HOW, journal))

    journal = Memory()
    assert isinstance(failed(journal), AttributeError)
    assert isinstance(failed(Memory(journal.kept)), AttributeError)


def caught(effect: Any, said: Said) -> Exception:
    """The failure that the function of an `or_bind` gets in a durable run."""
    given: list[Exception] = []

    def keep(failure: Exception) -> Any:
        given.append(failure)
        return at(N0).do(WELL)

    program = at(N0).do(effect).or_bind(keep, on=lambda _: True)
    assert durably(program, said.interpreter, HOW, Memory()) == "WELL"
    return given[0]


def test_a_decoded_failure_keeps_its_verdict_when_it_is_pickled() -> None:
    failure = caught(BUSY, busy())
    assert type(failure) is httpx.HTTPError
    verdict = known.Verdict(True, None, "")
    assert known.judge(failure) == known.judge(pickle.loads(pickle.dumps(failure))) == verdict  # noqa: S301


def test_after_a_group_was_decoded_other_groups_are_judged_as_before() -> None:
    group: Exception = ExceptionGroup("two", [answered(503), Throttled(2)])
    assert known.judge(caught(BUSY, Said(busy=fails(group)))) == known.Verdict(True, 2.0)
    for _ in range(3000):
        group = ExceptionGroup("one", [group])
    assert known.judge(group) == known.Verdict(True, 2.0)


@dataclass
class Shop:
    """A world whose first answer is a failure."""

    asked: int = 0

    def answer(self, _: Say) -> str:
        self.asked += 1
        if self.asked == 1:
            raise answered(404)
        return "there"


@pytest.mark.parametrize("effect", [BUSY, all_of(BUSY, WELL)], ids=["command", "all_of"])
def test_explored_deaths_change_no_answer_of_an_on(effect: Any) -> None:
    model = Model(Shop, lambda shop: Say.handled_by(shop.answer))
    program = at(N2).retry(effect, on=status(404))
    found = model.explore(program, faults=dies("durably"), surprises=2)
    assert found.histories > 1


def test_a_run_that_waits_is_retried_by_the_next_engine(tmp_path: Path) -> None:
    said = busy()
    with working(tmp_path, said.interpreter, chosen_run) as engine:
        engine.start_with_id("one", chosen_run)
        until(lambda: said.what)
    said.table["busy"] = fails("there")
    with working(tmp_path, said.interpreter, chosen_run) as engine:
        assert engine.start_with_id("one", chosen_run).result() == "there"
    assert said.what == ["busy", "busy"]


@pytest.mark.slow
def test_a_run_whose_process_was_killed_as_it_waited_is_retried(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.support.durable.chosen", url_in(tmp_path)]
    with Child(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"asked\n"
        time.sleep(0.3)  # until the failure is recorded
        process.kill()
    said = Said(busy=fails("there"))
    with working(tmp_path, said.interpreter, chosen_run) as engine:
        assert engine.start_with_id("one", chosen_run).result() == "there"
    assert said.what == ["busy"]
