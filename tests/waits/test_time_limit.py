"""`time_limit(5)` is a number, with a deadline and without one."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from typing import Any

import pytest
import trio

from ixbackoff import N0, Call, at, backoff, call, time_limit
from ixbackoff.testing import Virtual


@pytest.mark.parametrize(
    ("most", "within", "limit"),
    [(5, None, 5), (5, 2, 2), (2, 5, 2), (timedelta(seconds=3), None, 3), (timedelta(1), 7.5, 7.5)],
    ids=repr,
)
def test_it_is_the_smaller_one(most: Any, within: float | None, limit: float) -> None:
    limits: list[float] = []
    world = Virtual(Call.handled_by(lambda _: limits.append(time_limit(most))))
    at(N0).do(call(print)).run(world.interpreter, within=within)
    assert limits == [limit]
    assert time_limit(most) == (most if isinstance(most, int) else most.total_seconds())


@pytest.mark.parametrize("most", [0, -1, float("nan"), float("inf"), "5"], ids=repr)
def test_it_is_above_0(most: Any) -> None:
    with pytest.raises(ValueError, match="most="):
        time_limit(most)


@pytest.mark.parametrize("library", [asyncio, trio], ids=lambda library: library.__name__)
def test_it_is_shorter_the_second_time(library: Any) -> None:
    async def work() -> list[float]:
        limits: list[float] = []

        @backoff(N0, within=5)
        async def asked() -> None:
            for _ in range(2):
                limits.append(time_limit(60))
                await library.sleep(0.01)

        await asked()
        return limits

    first, second = asyncio.run(work()) if library is asyncio else trio.run(work)
    assert second <= first - 0.009 < 5


def test_it_is_shorter_the_second_time_in_a_plain_function() -> None:
    limits: list[float] = []

    @backoff(N0, within=5)
    def asked() -> None:
        for _ in range(2):
            limits.append(time_limit(60))
            time.sleep(0.01)

    asked()
    assert limits[1] <= limits[0] - 0.009 < 5


def test_a_thread_of_trio_can_ask_for_it() -> None:
    @backoff(N0, within=5)
    async def asked() -> float:
        return await trio.to_thread.run_sync(time_limit, 60)

    assert 4 < trio.run(asked) <= 5
