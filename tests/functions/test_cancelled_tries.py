"""A try that raises a failure in place of the cancellation of its task is the last one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import anyio
import pytest

from ixbackoff import N3, CircuitOpen, at, backoff, call_async
from ixbackoff.live import live_async
from ixbackoff.observing import observed, story
from ixbackoff.schedules import Constant

SHORT = Constant(0.0001)
NOTE = "ixbackoff: not tried again: the task was cancelled"
retrying = backoff(N3, schedule=SHORT)

Work = Callable[[], Coroutine[Any, Any, Any]]
Using = Callable[[Work], Coroutine[Any, Any, Any]]


class Client:
    """A client whose request lasts for ever; `turned` raises a failure for its cancellation."""

    def __init__(self, turned: Work) -> None:
        self.turned = turned
        self.tries = 0
        self.began = asyncio.Event()

    async def request(self) -> None:
        self.tries += 1
        self.began.set()
        await self.turned()


async def in_the_except() -> None:
    try:
        await asyncio.sleep(5)
    except asyncio.CancelledError:
        raise ConnectionError  # noqa: B904


async def from_none() -> None:
    try:
        await asyncio.sleep(5)
    except asyncio.CancelledError:
        raise ConnectionError from None


async def after_the_except() -> None:
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(5)
    raise ConnectionError


async def in_a_helper() -> None:
    try:
        await in_the_except()
    except ConnectionError as failure:
        raise TimeoutError from failure


async def in_place_of_a_refusal() -> None:
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(5)
    raise CircuitOpen


TURNED = [in_the_except, from_none, after_the_except, in_a_helper, in_place_of_a_refusal]


async def by_block(work: Work) -> None:
    async for one_try in retrying:
        with one_try:
            await work()


async def in_this_frame(work: Work) -> None:
    async for one_try in retrying:
        with one_try:
            try:
                await work()
            except (asyncio.CancelledError, ConnectionError, TimeoutError):
                raise ConnectionError from None


async def by_program(work: Work) -> None:
    await at(N3).retry(call_async(work)).run_async(live_async(), schedule=SHORT)


RETRIES: dict[str, Using] = {
    "decorated": lambda work: retrying(work)(),
    "in time": lambda work: retrying.replace(within=60)(work)(),
    "a program": by_program,
    "a block": by_block,
    "in the frame of a block": in_this_frame,
}


@pytest.mark.parametrize("turned", TURNED)
@pytest.mark.parametrize("retry", RETRIES)
def test_a_failure_in_place_of_a_cancellation_is_raised_at_once(retry: str, turned: Work) -> None:
    async def main() -> None:
        client = Client(turned)
        task = asyncio.ensure_future(RETRIES[retry](client.request))
        await client.began.wait()
        task.cancel()
        with pytest.raises((ConnectionError, TimeoutError, CircuitOpen)) as raised:
            await task
        assert client.tries == 1
        assert NOTE in raised.value.__notes__
        told = story(raised.value)
        assert told is not None
        assert (told.tries, told.wait_count, told.reason) == (1, 0, "cancelled")

    asyncio.run(main())


@pytest.mark.parametrize("retry", RETRIES)
def test_a_later_try_is_not_followed_by_another_either(retry: str) -> None:
    async def main() -> None:
        tries = 0
        third = asyncio.Event()

        async def request() -> None:
            nonlocal tries
            tries += 1
            if tries == 3:
                third.set()
                await after_the_except()
            raise ConnectionError

        task = asyncio.ensure_future(RETRIES[retry](request))
        await third.wait()
        task.cancel()
        with pytest.raises(ConnectionError):
            await task
        assert tries == 3

    asyncio.run(main())


def test_wait_for_is_not_delayed_by_further_tries() -> None:
    client: Client

    async def main() -> None:
        nonlocal client
        client = Client(in_the_except)
        await asyncio.wait_for(retrying(client.request)(), 0.01)

    with pytest.raises((ConnectionError, TimeoutError)):
        asyncio.run(main())
    assert client.tries == 1


class Clean:
    """A clean-up that fails twice."""

    def __init__(self) -> None:
        self.tries = 0

    async def up(self) -> None:
        self.tries += 1
        await asyncio.sleep(0)
        if self.tries < 3:
            raise ConnectionError


async def in_finally(clean: Work) -> None:
    try:
        await asyncio.sleep(5)
    finally:
        await clean()


async def in_except(clean: Work) -> None:
    try:
        await asyncio.sleep(5)
    except asyncio.CancelledError:
        await clean()
        raise


async def in_the_except_of_another(clean: Work) -> None:
    try:
        await in_the_except()
    except ConnectionError:
        await clean()
        raise


async def uncancelled(clean: Work) -> None:
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(5)
    task = asyncio.current_task()
    assert task is not None
    task.uncancel()
    await clean()


CLEANING = [in_finally, in_except, in_the_except_of_another, uncancelled]


async def tries_after_cancelling(retry: str, cleaning: Using) -> int:
    clean = Clean()
    task = asyncio.ensure_future(cleaning(lambda: RETRIES[retry](clean.up)))
    await asyncio.sleep(0.001)
    task.cancel()
    with suppress(asyncio.CancelledError, ConnectionError):
        await task
    return clean.tries


@pytest.mark.parametrize("cleaning", CLEANING)
@pytest.mark.parametrize("retry", RETRIES)
def test_a_clean_up_retries(retry: str, cleaning: Using) -> None:
    assert asyncio.run(tries_after_cancelling(retry, cleaning)) == 3


async def caught(clean: Work) -> None:
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(5)
    await clean()


@pytest.mark.parametrize("retry", RETRIES)
def test_only_a_decorated_function_cannot_tell_a_cancellation_that_was_caught(retry: str) -> None:
    known = 1 if retry == "decorated" else 3
    assert asyncio.run(tries_after_cancelling(retry, caught)) == known


def test_a_clean_up_that_is_cancelled_in_a_try_stops() -> None:
    async def main() -> None:
        client = Client(in_the_except)

        async def cleaning() -> None:
            try:
                await asyncio.sleep(5)
            finally:
                await retrying(client.request)()

        task = asyncio.ensure_future(cleaning())
        await asyncio.sleep(0)
        task.cancel()
        await client.began.wait()
        task.cancel()
        with pytest.raises(ConnectionError):
            await task
        assert client.tries == 1

    asyncio.run(main())


async def limited_by_asyncio() -> None:
    async with asyncio.timeout(0.001):
        await asyncio.sleep(5)


async def limited_by_anyio() -> None:
    with anyio.fail_after(0.001):
        await anyio.sleep(5)


@pytest.mark.parametrize("limited", [limited_by_asyncio, limited_by_anyio])
@pytest.mark.parametrize("retry", RETRIES)
def test_a_timeout_inside_a_try_is_retried(retry: str, limited: Work) -> None:
    tries = 0

    async def request() -> None:
        nonlocal tries
        tries += 1
        await limited()

    with pytest.raises((TimeoutError, ConnectionError)):
        asyncio.run(RETRIES[retry](request))
    assert tries == 4


@pytest.mark.parametrize("retry", ["decorated", "a block", "a program"])
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_cancelled_scope_of_anyio_and_trio_lets_no_further_try_begin(
    retry: str, backend: str
) -> None:
    tries = 0

    async def request() -> None:
        nonlocal tries
        tries += 1
        try:
            await anyio.sleep(5)
        except anyio.get_cancelled_exc_class():
            raise ConnectionError from None

    async def main() -> None:
        with anyio.move_on_after(0.005), suppress(ConnectionError):
            await RETRIES[retry](request)

    anyio.run(main, backend=backend)
    assert tries == 1


@pytest.mark.parametrize("retry", RETRIES)
def test_observers_see_the_reason(retry: str) -> None:
    ended: list[Any] = []

    async def main() -> None:
        client = Client(in_the_except)
        task = asyncio.ensure_future(RETRIES[retry](client.request))
        await client.began.wait()
        task.cancel()
        with suppress(ConnectionError):
            await task

    with observed(ended.append):
        asyncio.run(main())
    assert [event.run.reason for event in ended if type(event).__name__ == "Ended"] == ["cancelled"]
    assert not [event for event in ended if type(event).__name__ == "WaitBegan"]
