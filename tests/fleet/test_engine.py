"""The engine of `simulate`: a fleet of one does what a virtual run does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import N3, N5, Constant, RetryBudget, at, do, first_of

from ..support.fleets.scripted import Script, fleet, lines, run, scripts, virtual
from ..support.generators.programs import RUNGS, effects, programs, schedules


@given(programs(), scripts, schedules, st.booleans())
def test_a_fleet_of_one_is_a_virtual_run(
    program: Any, script: Script, schedule: Any, at_once: bool
) -> None:
    schedule &= Constant(1000.0)  # each second is counted
    outcome = fleet(program, script, schedule=schedule, at_once=at_once)
    assert run(outcome) == virtual(program, script, schedule=schedule)


@given(
    effects,
    scripts,
    st.sampled_from(RUNGS),
    st.floats(0.05, 100),
    st.sampled_from(["retry", "resume"]),
)
def test_it_is_with_a_deadline(
    effect: Any, script: Script, rung: Any, within: float, step: str
) -> None:
    program = getattr(at(rung), step)(effect)
    assert run(fleet(program, script, within=within)) == virtual(program, script, within=within)


@given(effects, effects, scripts, st.floats(0.05, 10), st.floats(0.05, 10), st.booleans())
def test_it_is_with_time_limits(
    one: Any, other: Any, script: Script, inner: float, outer: float, resumes: bool
) -> None:
    limited = do(one).limit(inner).then(lambda _: other).limit(outer)
    program = at(N3).resume(limited) if resumes else at(N3).retry(limited)
    assert run(fleet(program, script)) == virtual(program, script)


@given(
    effects,
    scripts,
    st.sampled_from([RetryBudget.grpc, RetryBudget.finagle, lambda: RetryBudget(2)]),
)
def test_it_is_with_a_budget(
    effect: Any, script: Script, budget: Callable[[], RetryBudget]
) -> None:
    program = at(N5).retry(effect)
    mine, other = budget(), budget()
    outcome = fleet(program, script, budget=lambda _: mine)
    assert run(outcome) == virtual(program, script, budget=other)
    assert mine.left == other.left


@given(st.lists(effects, min_size=1, max_size=3), scripts, st.booleans())
def test_it_is_with_alternatives(some: list[Any], script: Script, resumes: bool) -> None:
    tried = first_of([do(effect).limit(5) for effect in some])
    program: Any = at(N3).resume(tried) if resumes else at(N3).retry(tried)
    assert run(fleet(program, script)) == virtual(program, script)


@pytest.mark.slow
@given(st.lists(st.tuples(programs(), scripts), min_size=2, max_size=4), schedules)
def test_clients_do_not_see_each_other(some: list[tuple[Any, Script]], schedule: Any) -> None:
    schedule &= Constant(1000.0)
    all_programs, all_scripts = zip(*some, strict=True)
    outcome = fleet(
        lambda number: all_programs[number], *all_scripts, clients=len(some), schedule=schedule
    )
    for number, (program, script) in enumerate(some):
        assert lines(outcome, number) == virtual(program, script, schedule=schedule)[0]
