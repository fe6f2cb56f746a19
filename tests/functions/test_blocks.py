"""`for one_try in backoff(N3): with one_try: ...`: every way in and out of the block."""

# ruff: noqa: PT012 - the loops, and not a statement in them, are what raises

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from ixbackoff import (
    N0,
    N1,
    N2,
    N3,
    Misuse,
    NotReady,
    RetryBudget,
    answered_by,
    backoff,
    time_limit,
)
from ixbackoff.schedules import Constant

from ..support.ways.functions import calling, sleeps

untyped: Any = backoff
again = backoff(N3, schedule=Constant(0))


def test_a_block_is_left_when_it_went_well() -> None:
    tries: list[int] = []
    for one_try in again:
        with one_try:
            tries.append(one_try.number)
            if len(tries) < 3:
                raise NotReady
    assert tries == [1, 2, 3]


def test_a_block_that_fails_to_the_end_raises_its_last_failure() -> None:
    failures = [NotReady(str(number)) for number in range(3)]
    with pytest.raises(NotReady) as caught, sleeps() as waits:
        for one_try in backoff(N2):
            with one_try:
                raise failures[one_try.number - 1]
    assert caught.value is failures[2]
    assert caught.value.__notes__ == ["ixbackoff: tries: 3, waits: 2, 3 s in all"]
    assert waits == [1, 2]


def test_what_is_not_on_is_raised_at_once() -> None:
    tries = 0
    with pytest.raises(KeyError):
        for one_try in again:
            with one_try:
                tries += 1
                raise KeyError("k")
    assert tries == 1


def test_return_leaves_the_block_and_the_function() -> None:
    def page() -> int:
        for one_try in again:
            with one_try:
                if one_try.number == 1:
                    raise NotReady
                return one_try.number
        raise AssertionError("it neither returned nor raised")

    assert page() == 2


def test_break_leaves_the_loop() -> None:
    for one_try in again:
        with one_try:
            break
    for one_try in again:  # noqa: B007
        break
    else:
        pytest.fail("the loop went on")


def test_continue_in_a_block_means_that_it_went_well() -> None:
    tries = 0
    for one_try in again:
        tries += 1
        with one_try:
            continue
    assert tries == 1


def test_what_follows_the_block_in_the_loop_runs_after_each_try() -> None:
    followed: list[int] = []
    for one_try in again:
        with one_try:
            if one_try.number < 3:
                raise NotReady
        followed.append(one_try.number)
    assert followed == [1, 2, 3]


def test_a_failure_beside_the_block_is_not_tried_again() -> None:
    tries = 0
    with pytest.raises(NotReady):
        for one_try in again:
            tries += 1
            with one_try:
                pass
            raise NotReady
    assert tries == 1


def test_a_loop_without_with_is_told_so() -> None:
    with pytest.raises(Misuse, match="write `with` and the loop's variable around it"):
        for _one_try in again:
            pass


def test_with_without_a_loop_is_an_error() -> None:
    with pytest.raises(TypeError, match="context manager"), untyped(N1):
        pass


def test_one_try_runs_one_block() -> None:
    with pytest.raises(Misuse, match="One try runs the block once"):
        for one_try in again:
            with one_try:
                raise NotReady
            with one_try:
                pytest.fail("a second block ran")


def test_a_try_that_is_over_cannot_be_entered_again() -> None:
    for kept in again:
        with kept:
            pass
    with pytest.raises(Misuse, match="One try runs the block once"), kept:
        pytest.fail("it ran")


def test_an_interrupt_after_a_failure_is_not_held_back() -> None:
    with pytest.raises(KeyboardInterrupt):
        for one_try in again:
            with one_try:
                if one_try.number == 1:
                    raise NotReady
                raise KeyboardInterrupt


def test_an_interrupt_leaves_the_loop_from_within_the_block() -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        for one_try in backoff(N3, within=60):
            with one_try:
                raise KeyboardInterrupt
            pytest.fail("what follows the block ran")
    assert time_limit() is None, f"also while {caught!r} is looked at"


@pytest.mark.parametrize("failures", [0, 1])
def test_an_interrupt_is_raised_as_the_block_has_raised_it(failures: int) -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        for one_try in again:
            with one_try:
                if one_try.number <= failures:
                    raise NotReady
                raise KeyboardInterrupt
    assert [frame.path for frame in caught.traceback] == [Path(__file__)]
    assert caught.value.__context__ is None


def test_each_loop_over_one_backoff_is_a_new_one() -> None:
    def tries() -> list[int]:
        numbers: list[int] = []
        for one_try in again:
            with one_try:
                numbers.append(one_try.number)
                if one_try.number < 3:
                    raise NotReady
        return numbers

    assert tries() == tries() == [1, 2, 3]


def test_an_iterator_that_is_over_stays_over() -> None:
    loop = iter(again)
    assert len([one_try.__exit__(None, None, None) for one_try in loop]) == 1
    assert list(loop) == []


def test_at_n0_a_block_is_tried_once() -> None:
    with pytest.raises(NotReady) as caught:
        for one_try in backoff(N0):
            with one_try:
                raise NotReady
    assert caught.value.__notes__ == ["ixbackoff: tries: 1, waits: 0, 0 s in all"]


def test_a_generator_may_yield_in_its_block_and_be_closed() -> None:
    def numbers() -> Iterator[int]:
        for one_try in again:
            with one_try:
                yield one_try.number

    assert list(numbers()) == [1]
    assert next(numbers()) == 1
    assert again.call(lambda: 1) == 1


class InBudget:
    """Ways out of a block whose retries are paid from a budget."""

    def __init__(self) -> None:
        self.budget = RetryBudget(10, returned=0, returned_after_retry=0.5)
        self.made = backoff(N3, schedule=Constant(0), budget=self.budget)

    def returning(self) -> None:
        for one_try in self.made:
            with one_try:
                if one_try.number == 1:
                    raise NotReady
                return

    def breaking(self) -> None:
        for one_try in self.made:
            with one_try:
                if one_try.number == 1:
                    raise NotReady
                break

    def falling_through(self) -> None:
        for one_try in self.made:
            with one_try:
                if one_try.number == 1:
                    raise NotReady

    def interrupted(self) -> None:
        with pytest.raises(KeyboardInterrupt):
            for one_try in self.made:
                with one_try:
                    if one_try.number == 1:
                        raise NotReady
                    raise KeyboardInterrupt


@pytest.mark.parametrize("end", [InBudget.returning, InBudget.breaking, InBudget.falling_through])
def test_however_a_block_ends_well_its_budget_is_told(end: Any) -> None:
    one = InBudget()
    end(one)
    assert one.budget.left == 9.5


def test_a_block_that_is_interrupted_gives_nothing_back() -> None:
    one = InBudget()
    one.interrupted()
    assert one.budget.left == 9


def test_an_empty_budget_ends_the_loop() -> None:
    one = backoff(N3, schedule=Constant(0), budget=RetryBudget(1))
    tries = 0
    with pytest.raises(NotReady) as caught:
        for one_try in one:
            with one_try:
                tries += 1
                raise NotReady
    assert tries == 2
    assert "the retry budget is empty" in caught.value.__notes__[0]


def test_a_deadline_ends_the_loop() -> None:
    world = calling()
    tries = 0
    with answered_by(world.interpreter), pytest.raises(NotReady) as caught:
        for one_try in backoff(N3, within=3):
            with one_try:
                tries += 1
                raise NotReady
    assert (tries, world.waits) == (2, [1])
    assert "would not end before the deadline of 3 s" in caught.value.__notes__[0]


ENDS = ("fall through", "return", "break")


async def async_block(end: str) -> int | None:
    for_else = 0
    async for one_try in again:
        with one_try:
            if one_try.number == 1:
                raise NotReady
            if end == "return":
                return one_try.number
            if end == "break":
                break
        for_else = one_try.number
    return for_else + 1


@pytest.mark.parametrize("end", ENDS)
def test_async_blocks(end: str) -> None:
    """A block leaves nothing that the event loop or the garbage collector has to close."""

    async def main() -> int | None:
        answer = await async_block(end)
        assert len(asyncio.all_tasks()) == 1
        return answer

    assert asyncio.run(main()) in (2, 3)
    assert trio.run(async_block, end) in (2, 3)
    gc.collect()


def test_an_async_loop_without_with_is_told_so() -> None:
    async def main() -> None:
        async for _one_try in again:
            pass

    with pytest.raises(Misuse, match="write `with` and the loop's variable around it"):
        asyncio.run(main())
    with pytest.raises(Misuse, match="write `with` and the loop's variable around it"):
        trio.run(main)


def test_an_async_iterator_that_is_over_stays_over() -> None:
    async def main() -> None:
        loop = aiter(again)
        with await anext(loop):
            pass
        assert await anext(loop, "over") == "over"
        assert await anext(loop, "over") == "over"

    asyncio.run(main())


@pytest.mark.parametrize("ends", [StopIteration, StopAsyncIteration])
def test_what_ends_loops_is_raised_out_of_a_block_at_once(ends: type[Exception]) -> None:
    async def main() -> None:
        async for one_try in backoff(N3, on=Exception, schedule=Constant(0)):
            with one_try:
                tries.append(one_try.number)
                await anext(aiter(Ending(StopAsyncIteration)))

    tries: list[int] = []
    with pytest.raises(StopAsyncIteration):
        asyncio.run(main())
    with pytest.raises(ends):
        for one_try in backoff(N3, on=Exception, schedule=Constant(0)):
            with one_try:
                tries.append(one_try.number)
                raise ends
    assert tries == [1, 1]


class Ending:
    """An iterator that fails when it is asked for its next item."""

    def __init__(self, failure: type[Exception]) -> None:
        self.failure = failure

    def __aiter__(self) -> Ending:
        return self

    async def __anext__(self) -> None:
        raise self.failure


def test_what_comes_between_the_tries_of_a_block_may_not_retry() -> None:
    def chosen(_: Exception) -> bool:
        again.call(lambda: calls.append(1))
        return True

    calls: list[int] = []
    with pytest.raises(Misuse, match="their retries would multiply"):
        for one_try in backoff(N3, on=chosen, schedule=Constant(0)):
            with one_try:
                raise NotReady
    assert calls == []


def test_a_time_limit_is_that_of_the_block_and_of_nothing_beside_it() -> None:
    limits: list[float | None] = []
    kept: list[object] = []
    for one_try in backoff(N3, within=5, schedule=Constant(0)):
        kept.append(one_try)
        limits.append(time_limit())
        with one_try:
            limits.append(time_limit())
            if one_try.number == 1:
                raise NotReady
        limits.append(time_limit())
        if one_try.number == 2:
            break
    assert [limit is None for limit in limits] == [True, False, True] * 2
    with pytest.raises(LookupError):
        for one_try in backoff(N3, within=5):
            kept.append(one_try)
            raise LookupError
    assert time_limit() is None


def test_what_breaks_in_a_predicate_says_for_which_failure_of_a_block() -> None:
    def breaks(_: Exception) -> bool:
        raise KeyError

    with pytest.raises(KeyError) as caught:
        for one_try in backoff(N3, on=breaks):
            with one_try:
                raise NotReady("first")
    assert str(caught.value.__context__) == "first"
