"""Persistent clients: a ladder without an end."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    N0,
    N1,
    N2,
    N3,
    N5,
    N20,
    Budget,
    Computed,
    Constant,
    Delay,
    Do,
    Exponential,
    Misuse,
    NotReady,
    Throttled,
    at,
    attempt,
)
from ixbackoff.schedules import Timing

from ..support.fleets import (
    FAILS,
    Script,
    fleet,
    in_a_row,
    lines,
    seconds,
    throttled,
    timings,
    without_rungs,
    without_the_short_cut,
)
from ..support.observing import Ask
from ..support.programs import transient
from ..support.random_schedules import random_schedule

any_timing: st.SearchStrategy[Timing] = timings | st.builds(
    lambda seed: random_schedule(Random(seed), depth=2),  # noqa: S311
    st.integers(0, 10**6),
)
passing = st.tuples(seconds, st.integers(0, 5) | transient | throttled)
shallow: st.SearchStrategy[Any] = st.sampled_from([N0, N1, N3])


@given(
    rung=shallow,
    timing=any_timing,
    some=st.lists(st.lists(passing, max_size=18), min_size=1, max_size=3),
    names=st.lists(st.sampled_from("abc"), min_size=1, max_size=3),
    lean=st.booleans(),
    budget=st.none() | st.sampled_from([Budget.grpc, Budget.finagle, lambda: Budget(2)]),
    at_once=st.booleans(),
)
def test_a_persistent_client_has_a_ladder_without_an_end(
    rung: Any,
    timing: Timing,
    some: list[Script],
    names: list[str],
    lean: bool,
    budget: Callable[[], Budget] | None,
    at_once: bool,
) -> None:
    effect: Any = Ask("a") if lean else in_a_row(names)
    scripts = [script + [(0.5, 1)] * 20 for script in some]  # fewer failures than N20 has waits
    how = {"schedule": timing, "clients": 3, "seconds": 1e6, "at_once": at_once}

    def outcome(rung: Any, **more: Any) -> Any:
        mine = [] if budget is None else [budget(), budget(), budget()]
        found = fleet(
            at(rung).retry(effect),
            *scripts,
            budget=mine.__getitem__ if mine else None,
            **how,
            **more,
        )
        return without_rungs(found), [each.left for each in mine]

    assert outcome(rung, persistent=True) == outcome(N20)


@given(
    rung=shallow,
    timing=any_timing,
    some=st.lists(st.lists(passing, max_size=60), min_size=1, max_size=3),
    lean=st.booleans(),
)
def test_it_is_the_same_on_every_ladder(
    rung: Any, timing: Timing, some: list[Script], lean: bool
) -> None:
    scripts = [[*script, (0.5, 1)] for script in some]
    how = {"schedule": timing, "clients": 3, "seconds": 500, "think": 5.0, "persistent": True}
    with without_the_short_cut(lean):
        one = fleet(at(rung).retry(Ask("a")), *scripts, **how)
        other = fleet(at(N20).retry(Ask("a")), *scripts, **how)
    assert without_rungs(one) == without_rungs(other)


def persistently(program: Any, script: Script, **how: Any) -> list[tuple[float, str]]:
    outcome = fleet(program, script, persistent=True, **how)
    return [(happened.at, str(happened.command)) for happened in outcome.trace]


def begins(program: Any, script: Script, **how: Any) -> list[float]:
    """When the command was asked."""
    outcome = fleet(program, script, persistent=True, **how)
    return [happened.at for happened in outcome.trace if isinstance(happened.command, Ask)]


@pytest.mark.parametrize("lean", [True, False])
def test_its_waits_grow_over_ladders(lean: bool) -> None:
    with without_the_short_cut(lean):
        found = begins(at(N1).retry(Ask("a")), FAILS, seconds=1023)
        assert found == [2.0**k - 1 for k in range(10)]
        outcome = fleet(at(N1).retry(Ask("a")), FAILS, seconds=1000, persistent=True)
        rungs = [
            happened.command.rung
            for happened in outcome.trace
            if isinstance(happened.command, Delay)
        ]
        assert rungs == [1, 0, 1, 0, 1, 0, 1, 0, 1]
        assert outcome.total(lambda second: second.gave_up) == 0


@pytest.mark.parametrize("lean", [True, False])
def test_what_the_service_asked_for_is_a_floor_over_ladders(lean: bool) -> None:
    script: Script = [(0.0, NotReady()), (0.0, Throttled(30.0)), *FAILS * 20]
    with without_the_short_cut(lean):
        found = begins(at(N1).retry(Ask("a")), script, seconds=200, schedule=Constant(5))
    assert found == [0.0, 5.0, *(35.0 + 30 * turn for turn in range(6))]


@pytest.mark.parametrize("lean", [True, False])
def test_it_waits_also_after_a_failure_that_is_not_tried_again(lean: bool) -> None:
    with without_the_short_cut(lean):
        script: Script = [(0.0, KeyError("bug")), (0.0, NotReady())]
        found = begins(at(N3).retry(Ask("a")), script, seconds=64)
    assert found == [0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 63.0]


@pytest.mark.parametrize("lean", [True, False])
def test_a_program_that_ended_well_begins_with_short_waits(lean: bool) -> None:
    script: Script = [*FAILS * 4, (0.0, 1)]
    with without_the_short_cut(lean):
        outcome = fleet(at(N1).retry(Ask("a")), script, seconds=200, think=0.001, persistent=True)
    waits = [
        happened.command.seconds
        for happened in outcome.trace
        if isinstance(happened.command, Delay)
    ]
    assert waits[:12] == [1.0, 2.0, 4.0, 8.0] * 3


@pytest.mark.parametrize("lean", [True, False])
def test_a_misuse_ends_the_simulation(lean: bool) -> None:
    with without_the_short_cut(lean), pytest.raises(Misuse, match="wrong"):
        fleet(at(N1).retry(Ask("a")), [(1.0, Misuse("wrong"))], persistent=True)


def test_a_wait_that_cannot_be_told_ends_a_persistent_program() -> None:
    schedule = Computed(lambda k: [1.0, 2.0, 3.0][k])
    for lean in True, False:
        with without_the_short_cut(lean):
            outcome = fleet(at(N1).retry(Ask("a")), FAILS, schedule=schedule, persistent=True)
        assert (outcome.ended, outcome.total(lambda second: second.gave_up)) == (6.0, 1)


def test_each_run_of_a_persistent_client_has_its_deadline() -> None:
    # The wait of 4 s is not begun, since it would leave no time: it is that between two runs.
    program = at(N5).retry(Ask("a"))
    assert begins(program, [(1.0, NotReady())], within=6.0, seconds=150) == [
        0.0, 2.0, 5.0, 10.0, 19.0, 36.0, 69.0, 134.0,
    ]  # fmt: skip
    slow = begins(program, [(9.0, 1), (9.0, 1), (2.0, 1)], within=6.0, seconds=150)
    assert slow == [0.0, 7.0, 15.0]


@pytest.mark.parametrize("rung", [N1, N2, N3])
def test_an_empty_budget_ends_a_persistent_program(rung: Any) -> None:
    outcome = fleet(
        at(rung).retry(Ask("a")),
        FAILS,
        budget=lambda _: Budget(3, returned=0),
        clients=2,
        persistent=True,
    )
    assert [told[0] for told in lines(outcome, 1)] == [0, 0, 1, 1, 3, 3, 7]
    assert outcome.total(lambda second: second.gave_up) == 2


@pytest.mark.parametrize("lean", [True, False])
@pytest.mark.parametrize("every", [0.0, 1e-300])
def test_time_that_does_not_go_by_is_a_misuse(lean: bool, every: float) -> None:
    script: Script = [(1.0, NotReady()), *FAILS * 2000]
    how = {"clients": 2, "seconds": 10, "schedule": Constant(every), "trace": False}
    with (
        without_the_short_cut(lean),
        patch("ixbackoff.fleet.events.MOST", 1000),
        pytest.raises(Misuse, match="At 1 s 1200 events went by, and no time: give waits"),
    ):
        fleet(at(N1).retry(Ask("a")), script, persistent=True, **how)
    fleet(at(N20).retry(Ask("a")), script, **how)  # which has an end


def test_many_clients_at_the_same_time_are_well() -> None:
    with patch("ixbackoff.fleet.events.MOST", 0):
        outcome = fleet(at(N20).retry(Ask("a")), FAILS, clients=500, schedule=Constant(0))
    assert outcome.events == 21 * 500


@pytest.mark.parametrize("rung", [N0, N1, N3])
@pytest.mark.parametrize("made", [Budget.grpc, lambda: Budget(3, throttled_cost=2)])
def test_an_empty_budget_is_paid_once(rung: Any, made: Callable[[], Budget]) -> None:
    one, other = made(), made()
    schedule = Exponential().jittered()
    program = at(rung).retry(Ask("a"))
    how = {"clients": 3, "schedule": schedule}
    persistent = fleet(program, FAILS, budget=lambda _: one, persistent=True, **how)
    plain = fleet(at(N20).retry(Ask("a")), FAILS, budget=lambda _: other, **how)
    assert without_rungs(persistent) == without_rungs(plain)
    assert one.left == other.left


def test_what_a_persistent_client_holds_is_let_go_at_the_end() -> None:
    ended: list[float] = []

    @attempt
    def careful() -> Do[Ask, int]:
        try:
            return (yield from Ask("a"))
        finally:
            ended.append(1)

    fleet(at(N1).retry(careful()), [(1.0, NotReady()), (50.0, 1)], seconds=10, persistent=True)
    assert ended == [1, 1]
