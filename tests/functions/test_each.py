"""`each=`: a time limit for each try."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import trio

from ixbackoff import (
    N0,
    N1,
    N2,
    Backoff,
    Call,
    CircuitBreaker,
    Constant,
    DeadlineExceeded,
    NotReady,
    answered_by,
    backoff,
    call,
    time_limit,
)
from ixbackoff.testing import Virtual, answers, no_waits, takes


@pytest.mark.parametrize("run", [asyncio.run, trio.run], ids=["asyncio", "trio"])
def test_a_try_of_a_coroutine_function_is_cancelled(run: Any) -> None:
    tried = []

    @backoff(N2, each=0.02, schedule=Constant(0))
    async def ask() -> str:
        tried.append(time_limit())
        if len(tried) < 3:
            await (asyncio.sleep if run is asyncio.run else trio.sleep)(60)
        return "page"

    async def main() -> str:
        return await ask()

    assert run(main) if run is trio.run else run(main()) == "page"
    assert len(tried) == 3
    assert all(left == pytest.approx(0.02, abs=0.02) for left in tried)


def test_the_last_try_that_hangs_ends_the_call() -> None:
    @backoff(N1, each=timedelta(milliseconds=20), schedule=Constant(0))
    async def ask() -> None:
        await asyncio.sleep(60)

    with pytest.raises(DeadlineExceeded, match=r"not done within 0.02 s") as caught:
        asyncio.run(ask())
    assert caught.value.__notes__[-1] == "ixbackoff: tries: 2, waits: 1, 0 s in all"


def test_a_plain_function_asks_for_its_seconds() -> None:
    left = []

    @backoff(N2, each=5, within=60)
    def ask() -> None:
        left.append(round(time_limit() or 0))
        raise NotReady

    with no_waits(), pytest.raises(NotReady):
        ask()
    assert left == [5, 5, 5]


def test_the_shorter_of_each_and_within_holds() -> None:
    @backoff(N0, each=60, within=5)
    def ask() -> float | None:
        return time_limit()

    assert ask() == pytest.approx(5, abs=0.5)


def test_a_block_asks_for_its_seconds() -> None:
    for one_try in backoff(N1, each=5):
        with one_try:
            assert time_limit() == pytest.approx(5, abs=0.5)


Way = Callable[[Backoff[Any], Virtual[Any]], object]
WAYS: list[Way] = [
    lambda patiently, _: patiently.call(print),
    lambda patiently, world: patiently.program(print).run(world.interpreter),
    lambda patiently, world: patiently.run(call(print), world.interpreter),
]


@pytest.mark.parametrize("way", WAYS)
def test_each_try_has_the_whole_time_in_any_interpreter(way: Way) -> None:
    world = Virtual(Call.handled_by(answers(takes(6, "late"), takes(4, NotReady()), takes(4, 12))))
    with answered_by(world.interpreter):
        assert way(backoff(N2, each=5), world) == 12
    assert world.now == 5 + 1 + 4 + 2 + 4


def test_on_decides_whether_a_try_that_was_too_slow_is_tried_again() -> None:
    world = Virtual(Call.handled_by(answers(takes(6, "late"))))
    with answered_by(world.interpreter), pytest.raises(DeadlineExceeded):
        backoff(N2, on=KeyError, each=5).call(print)


def test_a_slow_try_counts_for_the_breaker() -> None:
    breaker = CircuitBreaker(failures=1, within=10, open_for=30)
    world = Virtual(Call.handled_by(answers(takes(6, "late"), "page")))
    with answered_by(world.interpreter):
        assert backoff(N2, each=5, breaker=breaker).call(str) == "page"
    assert world.waits == [1, 29]


def test_an_answer_that_is_not_wanted_is_asked_for_again() -> None:
    world = Virtual(Call.handled_by(answers(1, 2)))
    with answered_by(world.interpreter):
        assert backoff(N1, each=5, until=lambda number: number == 2).call(int) == 2


@pytest.mark.parametrize("each", [0, -1, float("nan"), float("inf"), "5"])
def test_each_is_seconds_above_0(each: Any) -> None:
    with pytest.raises(ValueError, match=f"^each={each!r}.*: give a finite number of seconds"):
        backoff(N1, each=each)


def test_it_is_shown_and_replaced() -> None:
    patiently = backoff(N1, each=5)
    assert repr(patiently) == "backoff(N1, each=5)"
    assert repr(patiently.replace(each=None, name="pages")) == "backoff(N1, name='pages')"
