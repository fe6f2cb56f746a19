"""`stop=` of a coroutine function: the current try ends, and no other begins."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from threading import Event, Timer
from typing import Any

import pytest
import trio

from ixbackoff import N3, Constant, NotReady, Stopped, backoff
from ixbackoff.live import live_async
from ixbackoff.testing import no_waits

AN_HOUR = Constant(3600)
Tried = Callable[[Event, Callable[[], Awaitable[str]]], Awaitable[str]]


async def decorated(stop: Event, ask: Callable[[], Awaitable[str]]) -> str:
    @backoff(N3, schedule=AN_HOUR, stop=stop)
    async def asked() -> str:
        return await ask()

    return await asked()


async def in_a_block(stop: Event, ask: Callable[[], Awaitable[str]]) -> str:
    async for one_try in backoff(N3, schedule=AN_HOUR, stop=stop):
        with one_try:
            return await ask()
    raise AssertionError("a block that fails raises")


async def program(stop: Event, ask: Callable[[], Awaitable[str]]) -> str:
    async def asked() -> str:
        return await ask()

    patiently = backoff(N3, schedule=AN_HOUR, stop=stop)
    return await patiently.program_async(asked).run_async(live_async())


def in_asyncio(run: Any, *args: Any) -> Any:
    return asyncio.run(run(*args))


each_way = pytest.mark.parametrize("tried", [decorated, in_a_block, program])
pytestmark = pytest.mark.parametrize("loop", [in_asyncio, trio.run], ids=["asyncio", "trio"])


@each_way
def test_it_ends_a_wait(tried: Tried, loop: Any) -> None:
    stop, tries = Event(), []

    async def ask() -> str:
        tries.append(time.monotonic())
        Timer(0.05, stop.set).start()
        raise NotReady

    with pytest.raises(NotReady) as raised:
        loop(tried, stop, ask)
    assert time.monotonic() - tries[0] < 5
    assert len(tries) == 1
    assert raised.value.__notes__[0] == "ixbackoff: not tried again: stopped"


@each_way
def test_it_lets_the_current_try_end(tried: Tried, loop: Any) -> None:
    stop = Event()

    async def ask() -> str:
        stop.set()
        await (trio.sleep(0.05) if loop is trio.run else asyncio.sleep(0.05))
        return "page"

    assert loop(tried, stop, ask) == "page"
    with pytest.raises(Stopped):
        loop(tried, stop, ask)


@each_way
def test_a_wait_without_a_stop_takes_its_time(tried: Tried, loop: Any) -> None:
    tries: list[int] = []

    async def ask() -> str:
        tries.append(1)
        if len(tries) < 3:
            raise NotReady
        return "page"

    with no_waits() as waits:
        assert loop(tried, Event(), ask) == "page"
    assert waits.waited == [3600, 3600]


def test_a_wait_is_not_shorter_than_its_schedule(loop: Any) -> None:
    begun: list[float] = []

    async def ask() -> str:
        begun.append(time.monotonic())
        if len(begun) < 2:
            raise NotReady
        return "page"

    async def soon() -> str:
        patiently = backoff(N3, schedule=Constant(0.12), stop=Event())
        return await patiently.call(ask)

    assert loop(soon) == "page"
    assert 0.119 < begun[1] - begun[0] < 5
