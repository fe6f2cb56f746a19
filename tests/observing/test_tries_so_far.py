"""`tries_so_far`: which try it is, told to the function or the handler that is asked."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    N1,
    N2,
    N3,
    Log,
    NotReady,
    RetryBudget,
    all_of,
    at,
    backoff,
    call,
)
from ixbackoff.live import live
from ixbackoff.observing import (
    observed,
    tries_so_far,
)

from ..support.ways.functions import WAYS, Outcome, Way, program, seen, sleeps

EVERY_WAY = {"program": program, **WAYS}


@pytest.mark.parametrize("way", EVERY_WAY.values(), ids=EVERY_WAY)
@pytest.mark.parametrize("watched", [False, True])
@given(st.integers(0, 3), st.sampled_from([{}, {"within": 1e15}, {"budget": RetryBudget(10**9)}]))
def test_it_counts_the_tries_that_have_failed(
    way: Way, watched: bool, times: int, limits: dict[str, Any]
) -> None:
    counted: list[int] = []

    def outcome(well: bool) -> Outcome:
        def failure() -> BaseException:
            counted.append(tries_so_far())
            return KeyError() if well else NotReady()

        return failure

    script = [*[outcome(False)] * times, outcome(True)]
    with observed(*[lambda event: None] * watched):
        seen(way, backoff(N3, **limits), script)
    assert counted == list(range(times + 1))
    assert tries_so_far() == 0


def test_it_reaches_threads_and_tasks_of_the_run() -> None:
    counted: list[int] = []

    def ask() -> int:
        counted.append(tries_so_far())
        if tries_so_far() == 0:
            raise NotReady
        return 1

    with sleeps():
        at(N1).retry(all_of(call(ask), call(ask))).run(live())
        asyncio.run(at(N1).retry(all_of(call(ask), call(ask))).run_async(live()))
    assert counted.count(1) == 4


def test_another_step_of_the_program_goes_on_counting() -> None:
    counted: list[int] = []

    def ask() -> None:
        counted.append(tries_so_far())
        raise NotReady

    with sleeps(), pytest.raises(NotReady):
        at(N2).do(call(ask)).backoff().or_else(call(ask)).backoff().or_else(call(ask)).run(live())
    assert counted == [0, 1, 2]


def test_a_wait_while_well_is_not_a_try() -> None:
    counted: list[int] = []
    with sleeps():
        at(N2).do(Log("begin")).wait().retry(call(lambda: counted.append(tries_so_far()))).run(
            live()
        )
    assert counted == [0]
