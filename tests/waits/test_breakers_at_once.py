"""Many threads and tasks on one breaker: the counts are exact, and one of them probes."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier

import pytest
import trio

from ixbackoff import N0, N3, N20, CircuitBreaker, CircuitOpen, NotReady, Now, at, backoff
from ixbackoff.schedules import Constant
from ixbackoff.testing import Virtual, always

from ..support.ways.breakers import opened
from ..support.ways.budgets import ASK
from ..support.ways.programs import Ask

clock = Now.handled_by(lambda _: time.monotonic())


class Slow:
    """A service that is up, and answers when so many others were refused."""

    def __init__(self, others: int) -> None:
        self.others = others
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.over_async = asyncio.Event()
        self.asked = self.refused = 0

    def refuse(self) -> None:
        with self.lock:
            self.refused += 1
        if self.refused == self.others:
            self.over.set()
            self.over_async.set()

    def ask(self) -> int:
        with self.lock:
            self.asked += 1
        assert self.over.wait(60)
        return 1

    async def ask_async(self) -> int:
        self.asked += 1
        await self.over_async.wait()
        return 1


def opened_now() -> CircuitBreaker:
    """A breaker whose rest is over."""
    breaker = CircuitBreaker(failures=1, within=1, open_for=60)
    breaker.fail(0, time.monotonic() - 60)
    assert breaker.state == "open"
    return breaker


class TestThreads:
    """32 of them."""

    @pytest.mark.parametrize("failures", [32 * 50, 32 * 50 + 1])
    def test_exactly_so_many_failures_open_it(self, failures: int) -> None:
        breaker, together = CircuitBreaker(failures=failures, within=1e9, open_for=1e9), Barrier(32)

        def client(_: int) -> None:
            world = Virtual(Ask.handled_by(always(NotReady())))
            together.wait()
            for _ in range(50):
                with pytest.raises(NotReady):
                    at(N0).do(ASK).run(world.interpreter, breaker=breaker)

        with ThreadPoolExecutor(32) as pool:
            list(pool.map(client, range(32)))
        assert breaker.closed == (failures > 32 * 50)

    @pytest.mark.parametrize("decorated", [True, False] * 3)
    def test_one_probes_and_the_others_are_refused(self, decorated: bool) -> None:
        breaker, service, together = opened_now(), Slow(31), Barrier(32)
        interpreter = clock | Ask.handled_by(lambda _: service.ask())
        called = backoff(N0, breaker=breaker)(service.ask)

        def client(_: int) -> None:
            together.wait()
            try:
                if decorated:
                    called()
                else:
                    at(N0).do(ASK).run(interpreter, breaker=breaker)
            except CircuitOpen:
                service.refuse()

        with ThreadPoolExecutor(32) as pool:
            list(pool.map(client, range(32)))
        assert (service.asked, service.refused) == (1, 31)
        assert breaker.closed

    @pytest.mark.slow
    def test_it_opens_and_closes_under_their_feet(self) -> None:
        breaker, together = CircuitBreaker(failures=1, within=1, open_for=0.001), Barrier(32)
        patiently = backoff(N20, schedule=Constant(0), breaker=breaker)
        working: list[int] = []

        def client(number: int) -> int:
            tries = iter(range(200))

            def work() -> int:
                if next(tries) % 3:
                    raise NotReady
                return number

            together.wait()
            for _ in range(30):
                with suppress(NotReady, CircuitOpen):
                    working.append(patiently.call(work))
            return number

        with ThreadPoolExecutor(32) as pool:
            assert sum(pool.map(client, range(32))) == sum(range(32))
        assert working

    def test_a_thread_that_dies_in_its_probe_blocks_nobody_after_the_rest(self) -> None:
        breaker = opened(rest=30)
        thread = threading.Thread(target=breaker.admit, args=(30.0,))
        thread.start()
        thread.join()
        assert breaker.state == "half open"
        assert breaker.admit(60.0)


class TestTasks:
    """A thousand of them."""

    @pytest.mark.parametrize("decorated", [True, False])
    def test_one_probes_and_the_others_are_refused(self, decorated: bool) -> None:
        breaker, service = opened_now(), Slow(999)
        interpreter = clock | Ask.awaited_by(lambda _: service.ask_async())
        called = backoff(N0, breaker=breaker)(service.ask_async)

        async def client() -> None:
            try:
                if decorated:
                    await called()
                else:
                    await at(N0).do(ASK).run_async(interpreter, breaker=breaker)
            except CircuitOpen:
                service.refuse()

        async def main() -> None:
            await asyncio.gather(*[client() for _ in range(1000)])

        asyncio.run(main())
        assert (service.asked, service.refused) == (1, 999)
        assert breaker.closed

    def test_all_are_well_in_the_end(self) -> None:
        breaker, asked = CircuitBreaker(failures=3, within=1, open_for=0.05), 0
        down = time.monotonic() + 0.2

        @backoff(N20, schedule=Constant(0.1), breaker=breaker)
        async def client() -> int:
            nonlocal asked
            asked += 1
            await asyncio.sleep(0)
            if time.monotonic() < down:
                raise NotReady
            return 1

        async def main() -> list[int]:
            return await asyncio.gather(*[client() for _ in range(100)])

        assert sum(asyncio.run(main())) == 100
        assert asked <= 100 + 100 + 10  # a first try of each, one that is well, the probes
        assert breaker.closed

    def test_a_probe_that_is_cancelled_leaves_its_place(self) -> None:
        breaker = opened_now()
        called = backoff(N3, breaker=breaker)(asyncio.sleep)

        async def main() -> None:
            task = asyncio.create_task(called(60))
            await asyncio.sleep(0)
            assert breaker.state == "half open"
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await called(0, "well") == "well"

        asyncio.run(main())
        assert breaker.closed

    def test_a_program_that_is_cancelled_in_its_probe_leaves_its_place(self) -> None:
        breaker, service = opened_now(), Slow(1)
        interpreter = clock | Ask.awaited_by(lambda _: service.ask_async())

        async def main() -> None:
            task = asyncio.create_task(
                at(N0).do(ASK).run_async(interpreter, breaker=breaker, within=50)
            )
            await asyncio.sleep(0)
            assert breaker.state == "half open"
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert breaker.state == "open"
            service.refuse()
            assert await at(N0).do(ASK).run_async(interpreter, breaker=breaker) == 1

        asyncio.run(main())
        assert breaker.closed

    def test_a_probe_that_is_dropped_leaves_its_place(self) -> None:
        breaker = opened_now()

        async def hangs() -> None:
            await asyncio.get_running_loop().create_future()

        loop = asyncio.new_event_loop()
        task = loop.create_task(backoff(N0, breaker=breaker)(hangs)())
        loop.run_until_complete(asyncio.sleep(0))
        assert breaker.state == "half open"
        loop.close()
        del task, loop
        gc.collect()
        assert breaker.state == "open"

    def test_under_trio_its_clock_counts(self) -> None:
        breaker = CircuitBreaker(failures=2, within=10, open_for=30)
        tries: Iterator[Exception | int] = iter([NotReady(), NotReady(), NotReady(), 7])

        @backoff(N3, breaker=breaker)
        async def client() -> int:
            await trio.lowlevel.checkpoint()
            outcome = next(tries)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        async def main() -> None:
            began = trio.current_time()
            with pytest.raises(NotReady):
                await client()
            assert trio.current_time() - began == pytest.approx(31)
            assert breaker.state == "open"

        trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
