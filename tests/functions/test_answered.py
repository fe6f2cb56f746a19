"""`answered_by`: a test answers for what `backoff` has made, and for nothing else."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import trio

from ixbackoff import (
    N3,
    Call,
    CallAsync,
    Delay,
    NotReady,
    answered_by,
    backoff,
    call,
    call_async,
)
from ixbackoff.testing import Unscripted, Virtual, VirtualAsync, always, answers, waited

from ..support.ways.functions import calling, calling_async


def for_real(number: int) -> str:
    return f"for real {number}"


async def for_real_async(number: int) -> str:
    return f"for real {number}"


page = backoff(N3)(for_real)
page_async = backoff(N3)(for_real_async)


def scripted(*script: Any) -> Virtual[Call[Any]]:
    return Virtual(Call[Any].handled_by(answers(*script)))


def test_a_function_is_answered_by_a_script_in_virtual_time() -> None:
    with scripted(NotReady(), NotReady(), "page") as world, answered_by(world.interpreter):
        assert page(7) == "page"
    again = call(for_real, 7)
    world.expect(again, waited(1), again, waited(2), again)


def test_a_coroutine_function_is_answered_by_a_script_of_either_kind() -> None:
    async def answer(command: CallAsync[Any]) -> str:
        await asyncio.sleep(0)
        return "page"

    plain = Virtual(CallAsync[Any].handled_by(answers(NotReady(), "page")))
    awaited = VirtualAsync(CallAsync[Any].awaited_by(answer))

    async def main() -> None:
        with answered_by(plain.interpreter):
            assert await page_async(7) == "page"
        with answered_by(awaited.interpreter):
            assert await page_async(7) == "page"

    asyncio.run(main())
    again = call_async(for_real_async, 7)
    plain.expect(again, waited(1), again)
    awaited.expect(again)


def test_what_has_no_script_is_missed_and_not_done_for_real() -> None:
    async def main() -> None:
        await page_async(7)

    missed = pytest.raises(Unscripted, match="this kind has no script")
    with answered_by(scripted().interpreter), missed:
        asyncio.run(main())
    only_calls: Any = Call[Any].handled_by(lambda command: command())
    with answered_by(only_calls), pytest.raises(TypeError, match="No handler for Delay"):
        page(7)


def test_an_async_interpreter_leaves_functions_alone() -> None:
    with answered_by(calling_async().interpreter):
        assert page(7) == "for real 7"


def test_the_innermost_answers() -> None:
    async def main() -> str:
        return await page_async(7)

    outer, inner = scripted("outer"), scripted("inner")
    with answered_by(outer.interpreter):
        with answered_by(inner.interpreter):
            assert page(7) == "inner"
            with answered_by(calling_async().interpreter):
                assert asyncio.run(main()) == "for real 7"
        assert page(7) == "outer"
    assert page(7) == "for real 7"


def test_it_ends_with_its_block_also_when_that_fails() -> None:
    with pytest.raises(KeyboardInterrupt), answered_by(scripted(KeyboardInterrupt).interpreter):
        page(7)
    assert page(7) == "for real 7"


def test_other_threads_are_left_alone() -> None:
    with answered_by(scripted("page").interpreter):
        with ThreadPoolExecutor() as pool:
            assert list(pool.map(page, [1, 2])) == ["for real 1", "for real 2"]
        assert page(7) == "page"


def test_each_thread_has_its_own() -> None:
    both_inside = threading.Barrier(2)

    def answered(word: str) -> str:
        with answered_by(scripted(word).interpreter):
            both_inside.wait()
            return page(7)

    with ThreadPoolExecutor() as pool:
        assert list(pool.map(answered, ["one", "other"])) == ["one", "other"]


def test_each_task_has_its_own_and_what_it_starts_shares_it() -> None:
    async def answered(word: str) -> str:
        world = Virtual(CallAsync[Any].handled_by(always(word)))
        with answered_by(world.interpreter):
            await asyncio.sleep(0)
            return " and ".join(await asyncio.gather(page_async(7), page_async(8)))

    async def main() -> None:
        words = await asyncio.gather(answered("one"), answered("other"), page_async(7))
        assert list(words) == ["one and one", "other and other", "for real 7"]

    asyncio.run(main())


def test_it_holds_in_trio() -> None:
    async def main() -> str:
        world = Virtual(CallAsync[Any].handled_by(answers(NotReady(), "page")))
        with answered_by(world.interpreter):
            answer: str = await page_async(7)
        assert world.now == 1
        return answer

    assert trio.run(main) == "page"


def test_blocks_wait_in_virtual_time() -> None:
    async def async_block() -> int:
        async for one_try in backoff(N3):
            with one_try:
                if one_try.number < 3:
                    raise NotReady
                return one_try.number
        raise AssertionError("it neither returned nor raised")

    def block() -> int:
        for one_try in backoff(N3):
            with one_try:
                if one_try.number < 3:
                    raise NotReady
                return one_try.number
        raise AssertionError("it neither returned nor raised")

    world = calling()
    with answered_by(world.interpreter):
        assert block() == 3
        assert asyncio.run(async_block()) == 3
    assert world.waits == [1, 2, 1, 2]
    world_async = calling_async()
    with answered_by(world_async.interpreter):
        assert asyncio.run(async_block()) == 3
    assert world_async.waits == [1, 2]


def test_a_handler_of_waits_sees_why() -> None:
    failures: list[Exception | None] = []
    watching = Delay.handled_by(lambda wait: failures.append(wait.failure))
    first = NotReady("first")
    with answered_by(Call[Any].handled_by(answers(first, "page")) | watching):
        assert page(7) == "page"
    assert failures == [first]
