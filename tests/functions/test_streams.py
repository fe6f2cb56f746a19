"""A stream is retried until its first item, and never after it."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any

import pytest
import trio

from ixbackoff import N2, N3, DeadlineExceeded, Misuse, NotReady, ServerError, backoff, plan
from ixbackoff.testing import no_waits

patiently = backoff(N3)
Script = list[Any]


class Source:
    """Streams of items and failures, each the script of one try, and what becomes of them."""

    def __init__(self, *scripts: Script) -> None:
        self.scripts = iter(scripts)
        self.begun = self.closed = 0

    def items(self) -> Iterator[Any]:
        self.begun += 1
        try:
            for item in next(self.scripts):
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            self.closed += 1

    async def items_async(self) -> AsyncIterator[Any]:
        for item in self.items():
            await trio.lowlevel.checkpoint() if in_trio() else await asyncio.sleep(0)
            yield item


def in_trio() -> bool:
    return bool(trio.lowlevel.in_trio_run())


def read(source: Source) -> tuple[list[Any], Exception | None]:
    items: list[Any] = []
    try:
        for item in patiently.stream(source.items)():
            items.append(item)  # noqa: PERF402  what came before a failure
    except Exception as failure:
        return items, failure
    return items, None


async def read_async(source: Source) -> tuple[list[Any], Exception | None]:
    items: list[Any] = []
    try:
        async for item in patiently.stream(source.items_async)():
            items.append(item)  # noqa: PERF401  what came before a failure
    except Exception as failure:
        return items, failure
    return items, None


WAYS = {
    "plain": read,
    "asyncio": lambda source: asyncio.run(read_async(source)),
    "trio": lambda source: trio.run(read_async, source),
}
each_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@each_way
def test_it_is_retried_until_the_first_item(way: Any) -> None:
    source = Source([NotReady()], [ServerError(529)], ["a", "b"])
    with no_waits() as waits:
        assert way(source) == (["a", "b"], None)
    assert waits.waited == [1, 2]
    assert source.begun == source.closed == 3


@each_way
@pytest.mark.parametrize(
    ("items", "said"), [(["a"], "1 item was"), (["a", "b", "c"], "3 items were")], ids=repr
)
def test_after_it_the_failure_is_raised(way: Any, items: Script, said: str) -> None:
    source = Source([*items, ServerError(529)], ["never"])
    given, failure = way(source)
    assert given == items
    assert isinstance(failure, ServerError)
    assert failure.__notes__ == [f"ixbackoff: not tried again: {said} given"]
    assert source.begun == source.closed == 1


@each_way
def test_without_items_it_ends(way: Any) -> None:
    assert way(Source([NotReady()], [])) == ([], None)


@each_way
def test_at_the_end_of_the_ladder_the_last_failure_is_raised(way: Any) -> None:
    with no_waits():
        given, failure = way(Source(*[[NotReady(str(number))] for number in range(5)]))
    assert (given, str(failure)) == ([], "3")
    assert failure.__notes__ == ["ixbackoff: tries: 4, waits: 3, 7 s in all"]


@patiently.stream
def echo(first: str) -> Generator[str, str, int]:
    sent = yield first
    try:
        yield f"sent {sent}"
    except KeyError:
        yield "thrown"
    return 3


def test_it_takes_what_is_sent_and_thrown_and_returns_the_value() -> None:
    stream = echo("a")
    assert [next(stream), stream.send("b"), stream.throw(KeyError())] == ["a", "sent b", "thrown"]
    with pytest.raises(StopIteration) as end:
        next(stream)
    assert end.value.value == 3
    with pytest.raises(StopIteration) as nothing:
        next(patiently.stream(nothing_but_a_value)())
    assert nothing.value.value == 5


def nothing_but_a_value() -> Generator[str, None, int]:
    return 5
    yield ""


def test_a_stream_that_is_closed_closes_its_own() -> None:
    source = Source(["a", "b"])
    stream: Any = patiently.stream(source.items)()
    assert next(stream) == "a"
    stream.close()
    assert source.closed == 1
    with pytest.raises(StopIteration):
        next(stream)

    async def closed() -> int:
        source = Source(["a", "b"])
        stream: Any = patiently.stream(source.items_async)()
        assert await anext(stream) == "a"
        await stream.aclose()
        gc.collect()  # the generator inside `items_async`
        return source.closed

    assert asyncio.run(closed()) == 1


def test_a_cancelled_task_ends_it() -> None:
    closed: list[str] = []

    @patiently.stream
    async def hangs(after: int) -> AsyncIterator[int]:
        try:
            for number in range(after):
                yield number
            await asyncio.sleep(60)
        finally:
            closed.append("closed")

    async def read_on(after: int) -> None:
        async for _ in hangs(after):
            pass

    async def cancelled(after: int) -> None:
        task = asyncio.create_task(read_on(after))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    for after in (0, 2):
        asyncio.run(cancelled(after))
    assert closed == ["closed", "closed"]


def test_the_time_is_that_of_the_first_item() -> None:
    @backoff(N2, within=0.05).stream
    async def slow(seconds: float) -> AsyncIterator[int]:
        await asyncio.sleep(seconds)
        yield 1
        await asyncio.sleep(0.1)
        yield 2

    async def listed(seconds: float) -> list[int]:
        return [number async for number in slow(seconds)]

    assert asyncio.run(listed(0)) == [1, 2]
    with pytest.raises(DeadlineExceeded):
        asyncio.run(listed(60))


def test_a_retry_inside_it_is_rejected_before_the_first_item_only() -> None:
    @patiently
    def page() -> str:
        return "page"

    @patiently.stream
    def pages(first: bool) -> Iterator[str]:
        if first:
            yield page()
        yield "first"
        yield page()

    assert list(pages(False)) == ["first", "page"]
    with pytest.raises(Misuse, match=r"page .backoff N3. was called inside .*pages .backoff N3."):
        list(pages(True))


def test_it_has_its_name_and_a_plan() -> None:
    assert echo.__name__ == "echo"
    assert plan(echo).wait_count == 3


def test_what_is_no_stream_is_refused() -> None:
    untyped: Any = patiently.stream
    with pytest.raises(Misuse, match="not a generator function"):
        untyped(len)
    with pytest.raises(Misuse, match="until= is for functions"):
        backoff(N3, until=bool).stream(nothing_but_a_value)
    with pytest.raises(TypeError, match=r"write backoff\(\.\.\.\)\.stream"):
        patiently(nothing_but_a_value)


def test_what_its_reader_throws_is_no_failure_of_the_stream() -> None:
    stream = echo("a")
    next(stream)
    with pytest.raises(ZeroDivisionError) as raised:
        stream.throw(ZeroDivisionError())
    assert not hasattr(raised.value, "__notes__")
    assert list(stream) == []


def test_an_async_stream_closes_its_own_at_once() -> None:
    closed: list[str] = []

    @patiently.stream
    async def items() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            await asyncio.sleep(0)
            closed.append("closed")

    async def first() -> list[str]:
        stream: Any = items()
        assert await anext(stream) == 1
        await stream.aclose()
        return [*closed]

    assert asyncio.run(first()) == ["closed"]


def test_call_rejects_a_stream_as_it_rejects_a_generator_function() -> None:
    with pytest.raises(TypeError, match="it is a generator function"):
        patiently.call(patiently.stream(Source([1]).items))
