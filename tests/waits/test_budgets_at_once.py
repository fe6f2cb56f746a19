"""Many threads and tasks on one budget: the totals are exact."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from ixbackoff import N2, N5, Delay, NotReady, RetryBudget, at
from ixbackoff.testing import Virtual, always

from ..support.ways.budgets import ASK, approximately
from ..support.ways.programs import Ask


class TestAtOnce:
    """Many threads and tasks on one budget: the totals are exact."""

    def test_32_threads(self) -> None:
        budget = RetryBudget(1000, cost=0.7, returned=0)
        together = Barrier(32)

        def client(_: int) -> int:
            world = Virtual(Ask.handled_by(always(NotReady())))
            together.wait()
            for _ in range(20):
                with pytest.raises(NotReady):
                    at(N5).retry(ASK).run(world.interpreter, budget=budget)
            return len(world.waits)

        with ThreadPoolExecutor(32) as pool:
            retries = sum(pool.map(client, range(32)))
        assert retries == 1428  # of 3,200 asked for: 1000 / 0.7
        assert budget.left == approximately(1000 - 1428 * 0.7)

    def test_32_threads_of_which_half_give(self) -> None:
        budget = RetryBudget(1000, cost=0.1, returned=0.3)
        account = budget.open(0.0)
        for _ in range(5000):  # to the middle, so that neither end is reached
            account.afford(NotReady(), 0.0)
        together = Barrier(32)

        def client(number: int) -> None:
            together.wait()
            for _ in range(100):
                if number % 2:
                    budget.open(0.0).close(None, 0.0)
                else:
                    assert budget.open(0.0).afford(NotReady(), 0.0)

        with ThreadPoolExecutor(32) as pool:
            list(pool.map(client, range(32)))
        assert budget.left == 500 + 1600 * 0.3 - 1600 * 0.1

    def test_1000_tasks(self) -> None:
        budget = RetryBudget(500, returned=0)
        retries = 0

        async def failing(_: Ask) -> int:
            await asyncio.sleep(0)
            raise NotReady

        async def counted(_: Delay) -> None:
            nonlocal retries
            retries += 1
            await asyncio.sleep(0)

        async def main() -> list[Any]:
            interpreter = Ask.awaited_by(failing) | Delay.awaited_by(counted)
            program = at(N2).retry(ASK)
            runs = [program.run_async(interpreter, budget=budget) for _ in range(1000)]
            return await asyncio.gather(*runs, return_exceptions=True)

        outcomes = asyncio.run(main())
        assert {type(result) for result in outcomes} == {NotReady}
        assert (retries, budget.left) == (500, 0)
