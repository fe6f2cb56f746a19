"""Clients on a ladder without end: they ask until they are answered."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    FOREVER,
    N20,
    Computed,
    Constant,
    Delay,
    Do,
    Exponential,
    Misuse,
    NotReady,
    RetryBudget,
    Throttled,
    at,
    attempt,
)
from ixbackoff.fleet import Outcome
from ixbackoff.schedules import Timing
from ixbackoff.schedules.shortening_jitter import DecorrelatedJitter, EqualJitter, FullJitter

from ..support.fleets.scripted import (
    FAILS,
    Script,
    fleet,
    in_a_row,
    lines,
    run,
    scripts,
    seconds,
    seen,
    throttled,
    timings,
    virtual,
    without_the_short_cut,
)
from ..support.generators.programs import effects, transient
from ..support.generators.random_schedules import random_schedule
from ..support.ways.programs import Ask

any_timing: st.SearchStrategy[Timing] = timings | st.builds(
    lambda seed: random_schedule(Random(seed), depth=2),  # noqa: S311
    st.integers(0, 10**6),
)
budgets = st.none() | st.sampled_from(
    [RetryBudget.grpc, RetryBudget.finagle, lambda: RetryBudget(2)]
)
PATIENT = at(FOREVER).retry(Ask("a"))


@pytest.mark.slow
@given(
    timing=any_timing,
    some=st.lists(
        st.lists(st.tuples(seconds, st.integers(0, 5) | transient | throttled), max_size=18),
        min_size=1,
        max_size=3,
    ),
    names=st.lists(st.sampled_from("abc"), min_size=1, max_size=3),
    step=st.sampled_from(["retry", "resume"]),
    lean=st.booleans(),
    budget=budgets,
    at_once=st.booleans(),
)
def test_with_fewer_than_twenty_failures_it_is_the_deepest_ladder(
    timing: Timing,
    some: list[Script],
    names: list[str],
    step: str,
    lean: bool,
    budget: Callable[[], RetryBudget] | None,
    at_once: bool,
) -> None:
    effect: Any = Ask("a") if lean else in_a_row(names)
    passing = [script + [(0.5, 1)] * 20 for script in some]

    def outcome(rung: Any) -> Any:
        mine = [] if budget is None else [budget(), budget(), budget()]
        found = fleet(
            getattr(at(rung), step)(effect),
            *passing,
            schedule=timing,
            clients=3,
            seconds=1e6,
            at_once=at_once,
            budget=mine.__getitem__ if mine else None,
        )
        return seen(found), [each.left for each in mine]

    assert outcome(FOREVER) == outcome(N20)


# An answer that arrives at the very deadline comes before it or after it, as sums are rounded.
within = st.floats(0.05, 1000).map(lambda seconds: seconds + 1e-7)


@pytest.mark.slow
@given(effects, scripts, within, st.sampled_from(["retry", "resume"]), budgets)
def test_a_fleet_of_one_is_a_virtual_run(
    effect: Any, script: Script, within: float, step: str, budget: Callable[[], RetryBudget] | None
) -> None:
    program = getattr(at(FOREVER), step)(effect)
    mine, other = (None, None) if budget is None else (budget(), budget())
    outcome = fleet(program, script, within=within, budget=(lambda _: mine) if mine else None)
    assert run(outcome) == virtual(program, script, within=within, budget=other)


def waits(outcome: Outcome) -> list[tuple[float, int | None]]:
    """The seconds and the rung of each wait."""
    commands = [happened.command for happened in outcome.trace]
    return [(each.seconds, each.rung) for each in commands if isinstance(each, Delay)]


def asked(program: Any, script: Script, **how: Any) -> list[float]:
    """The times at which the command was asked."""
    outcome = fleet(program, script, **how)
    return [happened.at for happened in outcome.trace if isinstance(happened.command, Ask)]


@pytest.mark.parametrize("lean", [True, False])
def test_after_twenty_waits_the_last_one_comes_again_and_again(lean: bool) -> None:
    with without_the_short_cut(lean):
        outcome = fleet(PATIENT, FAILS, schedule=Exponential(2**-9), seconds=2**11 + 5 * 2**10)
    longest = [(2.0**10, 1)] * 5
    assert waits(outcome) == [*((2.0 ** (k - 9), 20 - k) for k in range(20)), *longest]
    assert outcome.total(lambda second: second.gave_up) == 0


@pytest.mark.parametrize("lean", [True, False])
@pytest.mark.parametrize("jitter", [FullJitter, EqualJitter, DecorrelatedJitter])
def test_jitter_is_drawn_anew_for_each_of_them(lean: bool, jitter: Callable[..., Timing]) -> None:
    with without_the_short_cut(lean):
        outcome = fleet(PATIENT, FAILS, seconds=200, schedule=jitter(0.1, 10.0))
    last = [seconds for seconds, rung in waits(outcome) if rung == 1 and seconds < 10.0]
    assert len({*last}) == len(last) > 5


@pytest.mark.parametrize("lean", [True, False])
def test_no_wait_is_shorter_than_what_the_service_asked_for_before(lean: bool) -> None:
    script: Script = [(0.0, NotReady()), (0.0, Throttled(30.0)), *FAILS * 40]
    with without_the_short_cut(lean):
        found = asked(PATIENT, script, seconds=1000, schedule=Constant(5))
    assert found == [0.0, 5.0, *(35.0 + 30 * turn for turn in range(33))]


@pytest.mark.parametrize("lean", [True, False])
def test_it_goes_on_after_what_it_is_on_and_only_then(lean: bool) -> None:
    script: Script = [(0.0, KeyError("bug")), (0.0, NotReady())]
    with without_the_short_cut(lean):
        assert asked(PATIENT, script, seconds=64) == [0.0]
        found = asked(at(FOREVER).retry(Ask("a"), on=Exception), script, seconds=64)
    assert found == [0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 63.0]


@pytest.mark.parametrize("lean", [True, False])
def test_a_program_that_ended_well_begins_with_short_waits(lean: bool) -> None:
    script: Script = [*FAILS * 4, (0.0, 1)]
    with without_the_short_cut(lean):
        outcome = fleet(PATIENT, script, seconds=200, think=0.001)
    assert waits(outcome)[:12] == [(1.0, 20), (2.0, 19), (4.0, 18), (8.0, 17)] * 3


@pytest.mark.parametrize("lean", [True, False])
def test_a_misuse_ends_the_simulation(lean: bool) -> None:
    with without_the_short_cut(lean), pytest.raises(Misuse, match="wrong"):
        fleet(at(FOREVER).retry(Ask("a"), on=Exception), [(1.0, Misuse("wrong"))])


@pytest.mark.parametrize("lean", [True, False])
def test_a_wait_that_cannot_be_told_ends_it(lean: bool) -> None:
    schedule = Computed(lambda k: [1.0, 2.0, 3.0][k])
    with without_the_short_cut(lean):
        outcome = fleet(PATIENT, FAILS, schedule=schedule)
    assert (outcome.ended, outcome.total(lambda second: second.gave_up)) == (6.0, 1)


def test_a_deadline_ends_it() -> None:
    # The wait of 4 s is not begun, since it would leave no time.
    outcome = fleet(PATIENT, [(1.0, NotReady())], within=8.0, seconds=150)
    assert waits(outcome) == [(1.0, 20), (2.0, 19)]
    assert (outcome.ended, outcome.gave_up) == (6.0, 1)


def test_an_empty_budget_ends_it() -> None:
    outcome = fleet(PATIENT, FAILS, budget=lambda _: RetryBudget(3, returned=0), clients=2)
    assert [told[0] for told in lines(outcome, 1)] == [0, 0, 1, 1, 3, 3, 7]
    assert outcome.total(lambda second: second.gave_up) == 2


@pytest.mark.parametrize("lean", [True, False])
@pytest.mark.parametrize("every", [0.0, 1e-300])
def test_time_that_does_not_go_by_is_a_misuse(lean: bool, every: float) -> None:
    script: Script = [(1.0, NotReady()), *FAILS * 2000]
    how = {"clients": 2, "seconds": 10, "schedule": Constant(every), "trace": False}
    with (
        without_the_short_cut(lean),
        patch("ixbackoff.fleet.event_queue.MOST", 1000),
        pytest.raises(
            Misuse, match="At 1 s 1200 events happened, and time did not advance: give waits"
        ),
    ):
        fleet(PATIENT, script, **how)
    fleet(at(N20).retry(Ask("a")), script, **how)  # which has an end


def test_many_clients_at_the_same_time_are_well() -> None:
    with patch("ixbackoff.fleet.event_queue.MOST", 0):
        outcome = fleet(at(N20).retry(Ask("a")), FAILS, clients=500, schedule=Constant(0))
    assert outcome.events == 21 * 500


@pytest.mark.parametrize("made", [RetryBudget.grpc, lambda: RetryBudget(3, throttled_cost=2)])
def test_a_shared_budget_is_that_of_the_deepest_ladder(made: Callable[[], RetryBudget]) -> None:
    one, other = made(), made()
    how = {"clients": 3, "schedule": Exponential().jittered()}
    without_end = fleet(PATIENT, FAILS, budget=lambda _: one, **how)
    deepest = fleet(at(N20).retry(Ask("a")), FAILS, budget=lambda _: other, **how)
    assert seen(without_end) == seen(deepest)
    assert one.left == other.left


def test_what_a_client_holds_is_let_go_at_the_end() -> None:
    ended: list[float] = []

    @attempt
    def careful() -> Do[Ask, int]:
        try:
            return (yield from Ask("a"))
        finally:
            ended.append(1)

    fleet(at(FOREVER).retry(careful()), [(1.0, NotReady()), (50.0, 1)], seconds=10)
    assert ended == [1, 1]


def test_an_open_ladder_without_end_is_refused_by_its_name() -> None:
    with pytest.raises(Misuse, match="it ends at FOREVER: end it"):
        fleet(at(FOREVER).do(Ask("a")), FAILS)
