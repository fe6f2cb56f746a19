"""The laws of `laws.py`, for attempts and programs, in each of the four ways to run them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ixbackoff import N2, N7, NotReady, Throttled, at, do, plan, reflect
from ixbackoff.schedules.kinds import powers_of_two
from ixbackoff.testing import Virtual

from ..support.generators.programs import (
    RUNGS,
    commands,
    effects,
    functions,
    outcomes,
    programs,
    schedules,
    transient,
    values,
)
from ..support.laws import Ladders, OrElse, Resume, Same, Then, failing
from ..support.ways.programs import RUNNERS, Ask, Runner, run_sync

BEGINS = {"attempts": do, "programs": at(N2).do}


def law_tests(laws: type) -> list[Any]:
    return [
        pytest.param(law.__func__, id=name)
        for name, law in vars(laws).items()
        if isinstance(law, staticmethod)
    ]


each_other_runner = pytest.mark.parametrize(
    "run", [pytest.param(run, id=name) for name, run in RUNNERS.items() if name != "sync"]
)
fewer = settings(max_examples=20)
"""Another law says that all ways to run agree, so most examples of the others are left to one."""

STRATEGIES = {
    "value": values, "failure": transient, "f": functions, "g": functions, "m": effects,
    "a": effects, "b": effects, "c": effects, "x": effects, "command": commands,
}  # fmt: skip


def drawn(data: st.DataObject, law: Callable[..., Same]) -> dict[str, Any]:
    names = law.__code__.co_varnames[: law.__code__.co_argcount]
    return {name: data.draw(STRATEGIES[name], name) for name in names if name in STRATEGIES}


def complete(effect: Any) -> Any:
    """Make a program that can run, from an attempt or from an open program."""
    return effect.end() if hasattr(effect, "end") else at(N2).do(effect).end()


def assert_same(run: Runner, left: Any, right: Any, data: st.DataObject) -> None:
    script = data.draw(outcomes, "outcomes")
    one = run(complete(left), script, powers_of_two)
    other = run(complete(right), script, powers_of_two)
    assert one.commands == other.commands
    assert one.outcome == other.outcome


@pytest.mark.parametrize("begin", BEGINS.values(), ids=BEGINS)
@pytest.mark.parametrize("law", law_tests(Then) + law_tests(OrElse))
@given(data=st.data())
def test_law_of_effects(law: Any, begin: Any, data: st.DataObject) -> None:
    left, right = law(begin=begin, **drawn(data, law))
    assert_same(run_sync, left, right, data)


@pytest.mark.slow
@each_other_runner
@pytest.mark.parametrize("begin", BEGINS.values(), ids=BEGINS)
@pytest.mark.parametrize("law", law_tests(Then) + law_tests(OrElse))
@fewer
@given(data=st.data())
def test_law_of_effects_in_each_other_way(
    law: Any, begin: Any, run: Runner, data: st.DataObject
) -> None:
    left, right = law(begin=begin, **drawn(data, law))
    assert_same(run, left, right, data)


@pytest.mark.parametrize("law", law_tests(Ladders) + law_tests(Resume))
@given(data=st.data())
def test_law_of_ladders(law: Any, data: st.DataObject) -> None:
    left, right = law(**drawn(data, law))
    assert_same(run_sync, left, right, data)


@pytest.mark.slow
@each_other_runner
@pytest.mark.parametrize("law", law_tests(Ladders) + law_tests(Resume))
@fewer
@given(data=st.data())
def test_law_of_ladders_in_each_other_way(law: Any, run: Runner, data: st.DataObject) -> None:
    left, right = law(**drawn(data, law))
    assert_same(run, left, right, data)


def seconds(waits: list[str]) -> list[float]:
    return [float(wait.split("seconds=")[1].split(",")[0]) for wait in waits]


@settings(max_examples=200)
@given(programs(), outcomes, schedules)
def test_all_four_ways_to_run_are_one(program: Any, script: Any, schedule: Any) -> None:
    sync, *others = (run(program, script, schedule) for run in RUNNERS.values())
    assert others == [sync, sync, sync]


@given(programs(), st.lists(st.integers(0, 5) | st.builds(Throttled, st.floats(0, 1e9)),
                            min_size=1, max_size=8), schedules)  # fmt: skip
def test_no_wait_is_shorter_than_the_one_before(program: Any, script: Any, schedule: Any) -> None:
    waits = seconds(run_sync(program, script, schedule).waits)
    assert waits == sorted(waits)


@given(programs(), outcomes, schedules)
def test_a_program_never_waits_more_often_than_its_ladder_has_rungs(
    program: Any, script: Any, schedule: Any
) -> None:
    assert len(run_sync(program, script, schedule).waits) <= program.start


@given(programs(), outcomes, schedules)
def test_a_plan_is_never_exceeded(program: Any, script: Any, schedule: Any) -> None:
    unhurried = [Throttled() if isinstance(outcome, Throttled) else outcome for outcome in script]
    waits = seconds(run_sync(program, unhurried, schedule).waits)
    planned = plan(program, schedule)
    assert len(waits) <= planned.wait_count
    assert sum(waits) <= planned.seconds * (1 + 1e-9)


@given(st.integers(0, 5), schedules)
def test_a_retry_that_always_fails_waits_as_planned(top: int, schedule: Any) -> None:
    program: Any = at(RUNGS[top]).retry(failing(NotReady()))
    waits = seconds(run_sync(program, [0], schedule).waits)
    planned = plan(program, schedule)
    assert waits == [rung.wait_seconds for rung in planned.rungs if rung.wait_seconds is not None]
    assert (planned.tries, planned.wait_count) == (top + 1, top)


def recovering(failures: dict[str, int]) -> Callable[[Ask], int]:
    """A service that fails so often, each time it is asked so; its answers are always the same."""
    left = dict(failures)

    def answer(command: Ask) -> int:
        if left.get(command.name, 0):
            left[command.name] -= 1
            raise NotReady
        return ord(command.name[0]) % 7

    return answer


def outcome_of(program: Any, failures: dict[str, int]) -> Any:
    world = Virtual(Ask.handled_by(recovering(failures)))
    try:
        return program.run(world.interpreter)
    except Exception as failure:
        return type(failure), failure.args


@given(effects, st.dictionaries(st.sampled_from("abc"), st.integers(0, 2)))
def test_resume_comes_to_what_retry_comes_to_when_the_answers_are_the_same(
    effect: Any, failures: dict[str, int]
) -> None:
    assert outcome_of(at(N7).resume(effect), failures) == outcome_of(at(N7).retry(effect), failures)


def test_the_number_of_a_rung_is_the_number_of_its_waits() -> None:
    assert [reflect(rung) for rung in RUNGS] == [0, 1, 2, 3, 4, 5]
