"""Retries never multiply: a retry inside a retry is rejected, in every form."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import pytest
import trio

from ixbackoff import (
    N0,
    N3,
    Call,
    Misuse,
    RetryBudget,
    all_of,
    at,
    backoff,
    call,
    call_async,
    unroll,
)
from ixbackoff._functions.default_interpreters import PLAIN, PLAIN_ASYNC

Function: TypeAlias = Callable[[], Any]
AsyncFunction: TypeAlias = Callable[[], Awaitable[Any]]

plainly = backoff(N3, on=lambda failure: True)
in_time = backoff(N3, on=lambda failure: True, within=60)
in_budget = backoff(N3, on=lambda failure: True, budget=RetryBudget(10))


def block(function: Function) -> Any:
    for one_try in plainly:
        with one_try:
            return function()
    raise AssertionError("it neither returned nor raised")


async def async_block(function: AsyncFunction) -> Any:
    async for one_try in plainly:
        with one_try:
            return await function()
    raise AssertionError("it neither returned nor raised")


SYNC: dict[str, Callable[[Function], Any]] = {
    "decorated": lambda function: plainly(function)(),
    "decorated, in time": lambda function: in_time(function)(),
    "decorated, in a budget": lambda function: in_budget(function)(),
    "called": lambda function: plainly.call(function),
    "a program": lambda function: plainly.program(function).run(PLAIN),
    "a block": block,
}
ASYNC: dict[str, Callable[[AsyncFunction], Awaitable[Any]]] = {
    "decorated": lambda function: plainly(function)(),
    "decorated, in time": lambda function: in_time(function)(),
    "a program": lambda function: plainly.program_async(in_a_coroutine(function)).run_async(
        PLAIN_ASYNC
    ),
    "a block": async_block,
}


def in_a_coroutine(function: AsyncFunction) -> Any:
    async def awaiting() -> Any:
        return await function()

    return awaiting


class Counted:
    """A function that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self) -> int:
        self.calls += 1
        return 1


@pytest.mark.parametrize("outer", SYNC.values(), ids=SYNC)
@pytest.mark.parametrize("inner", SYNC.values(), ids=SYNC)
def test_no_retry_runs_in_a_retry(outer: Any, inner: Any) -> None:
    outside, inside = Counted(), Counted()

    def nested() -> None:
        outside()
        inner(inside)

    with pytest.raises(Misuse, match="their retries would multiply"):
        outer(nested)
    assert (outside.calls, inside.calls) == (1, 0)
    assert outer(inside) == 1, "it is over, also when it has failed"
    assert inner(inside) == 1


@pytest.mark.parametrize("run", [asyncio.run, lambda coroutine: trio.run(lambda: coroutine)])
@pytest.mark.parametrize("outer", ASYNC.values(), ids=ASYNC)
@pytest.mark.parametrize("inner", [*ASYNC.values(), *SYNC.values()])
def test_no_retry_is_awaited_in_a_retry(outer: Any, inner: Any, run: Any) -> None:
    outside, inside = Counted(), Counted()

    async def work() -> int:
        return inside()

    async def nested() -> None:
        outside()
        if inner in ASYNC.values():
            await inner(work)
        else:
            inner(inside)

    async def main() -> None:
        with pytest.raises(Misuse, match="their retries would multiply"):
            await outer(nested)
        assert (outside.calls, inside.calls) == (1, 0)
        assert await outer(work) == 1

    run(main())


def test_a_function_that_calls_itself_is_rejected() -> None:
    @plainly
    def factorial(number: int) -> int:
        return number * factorial(number - 1) if number else 1

    assert factorial(0) == 1
    with pytest.raises(Misuse, match="let only the outer one try again"):
        factorial(3)


def test_what_is_decorated_twice_is_rejected() -> None:
    twice = plainly(plainly(Counted()))
    with pytest.raises(Misuse, match="their retries would multiply"):
        twice()


def test_what_is_called_one_after_the_other_is_not_nested() -> None:
    counted = Counted()
    function = plainly(counted)
    assert [function(), function(), plainly.call(counted), block(counted)] == [1, 1, 1, 1]


def test_at_n0_nothing_is_tried_again_so_nothing_multiplies() -> None:
    once = backoff(N0)
    inner = plainly(Counted())
    assert once(inner)() == once.call(inner) == once.program(inner).run(PLAIN) == 1
    assert at(N0).do(call(inner)).run(Call[int].handled_by(lambda command: command())) == 1
    for one_try in once:
        with one_try:
            assert inner() == 1


def test_what_runs_in_a_thread_of_the_function_is_inside_it() -> None:
    inner = plainly(Counted())

    @plainly
    async def in_a_thread() -> int:
        return await asyncio.to_thread(inner)

    @plainly
    def in_a_context() -> None:
        failures: list[Exception] = []
        context = contextvars.copy_context()

        def run() -> None:
            try:
                inner()
            except Exception as failure:
                failures.append(failure)

        thread = threading.Thread(target=context.run, args=(run,))
        thread.start()
        thread.join()
        raise failures[0]

    for rejected in (lambda: asyncio.run(in_a_thread()), in_a_context):
        with pytest.raises(Misuse, match="their retries would multiply"):
            rejected()


def test_what_runs_in_a_task_of_the_function_is_inside_it() -> None:
    @plainly
    async def inner() -> int:
        return 1

    @plainly
    async def in_asyncio() -> Any:
        return await asyncio.gather(inner(), inner())

    @backoff(N3)
    async def in_trio() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(inner)

    with pytest.raises(Misuse, match="their retries would multiply"):
        asyncio.run(in_asyncio())
    with pytest.raises(Misuse, match="their retries would multiply"):
        trio.run(in_trio)


def test_a_task_that_outlives_the_function_is_no_longer_inside_it() -> None:
    async def main() -> int:
        over = asyncio.Event()
        tasks: list[asyncio.Task[int]] = []

        @plainly
        async def inner() -> int:
            return 1

        async def afterwards() -> int:
            await over.wait()
            return await inner()

        @plainly
        async def starting() -> None:
            tasks.append(asyncio.create_task(afterwards()))

        await starting()
        over.set()
        return await tasks[0]

    assert asyncio.run(main()) == 1


def test_what_runs_at_the_same_time_is_not_nested() -> None:
    async def main() -> list[int]:
        @plainly
        async def work() -> int:
            await asyncio.sleep(0)
            return 1

        return await asyncio.gather(*(work() for _ in range(10)))

    assert asyncio.run(main()) == [1] * 10


def in_an_empty_context(function: Function) -> Any:
    return contextvars.Context().run(function)


EARLIER = contextvars.copy_context()


def in_an_earlier_context(function: Function) -> Any:
    return EARLIER.copy().run(function)


OTHER_CONTEXTS = {"an empty one": in_an_empty_context, "an earlier one": in_an_earlier_context}
AROUND_OTHERS = {
    **{name: outer for name, outer in SYNC.items() if name != "a block"},
    "a part of all_of": lambda function: at(N3).retry(all_of(call(function))).run(PLAIN),
}
AROUND_OTHERS_ASYNC = {
    **{name: outer for name, outer in ASYNC.items() if name != "a block"},
    "a part of all_of": lambda function: (
        at(N3).retry(all_of(call_async(in_a_coroutine(function)))).run_async(PLAIN_ASYNC)
    ),
}


@pytest.mark.parametrize("inner", SYNC.values(), ids=SYNC)
@pytest.mark.parametrize("outer", AROUND_OTHERS.values(), ids=AROUND_OTHERS)
@pytest.mark.parametrize("elsewhere", OTHER_CONTEXTS.values(), ids=OTHER_CONTEXTS)
def test_a_retry_in_another_context_of_the_same_thread_is_inside(
    elsewhere: Any, outer: Any, inner: Any
) -> None:
    outside, inside = Counted(), Counted()

    def nested() -> None:
        outside()
        elsewhere(lambda: inner(inside))

    with pytest.raises(Misuse, match="their retries would multiply"):
        outer(nested)
    assert (outside.calls, inside.calls) == (1, 0)
    assert elsewhere(lambda: inner(inside)) == 1, "it is over"


@pytest.mark.parametrize("outer", AROUND_OTHERS.values(), ids=AROUND_OTHERS)
@pytest.mark.parametrize("elsewhere", OTHER_CONTEXTS.values(), ids=OTHER_CONTEXTS)
def test_a_stream_that_may_wait_is_inside_in_another_context_too(
    elsewhere: Any, outer: Any
) -> None:
    program = plainly.program(Counted())

    def nested() -> None:
        elsewhere(lambda: unroll(program))

    with pytest.raises(Misuse, match="their retries would multiply"):
        outer(nested)
    assert len(list(elsewhere(lambda: unroll(program)))) == 1, "it is over"


@pytest.mark.parametrize("inner", SYNC.values(), ids=SYNC)
@pytest.mark.parametrize("outer", AROUND_OTHERS_ASYNC.values(), ids=AROUND_OTHERS_ASYNC)
def test_a_retry_in_another_context_of_the_same_task_is_inside(outer: Any, inner: Any) -> None:
    outside, inside = Counted(), Counted()

    async def nested() -> None:
        outside()
        await asyncio.sleep(0)
        in_an_empty_context(lambda: inner(inside))

    async def main() -> None:
        with pytest.raises(Misuse, match="their retries would multiply"):
            await outer(nested)

    asyncio.run(main())
    assert (outside.calls, inside.calls) == (1, 0)


def test_other_tasks_of_the_same_thread_are_not_inside() -> None:
    inside = Counted()
    decorated = plainly(inside)

    async def long() -> None:
        await asyncio.sleep(0.02)

    async def short() -> int:
        await asyncio.sleep(0.01)
        return decorated()

    async def main() -> None:
        _, number = await asyncio.gather(plainly(long)(), short())
        assert number == 1

    asyncio.run(main())
