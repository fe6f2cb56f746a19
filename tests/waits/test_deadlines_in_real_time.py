"""Deadlines and limits by a real clock: awaited handlers are cancelled."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
import trio
import trio.testing

from ixbackoff import (
    N0,
    N1,
    N3,
    Constant,
    DeadlineExceeded,
    Delay,
    NotReady,
    at,
    backoff,
    do,
    time_limit,
)

from ..support.ways.attempts import guarded, two_of_them, work
from ..support.ways.libraries import LIBRARIES, PATIENT, SOON, Library, clock, each_library, hanging
from ..support.ways.programs import Ask

DONE = ["work let go", "clean up", "clean up let go"]


@each_library
@pytest.mark.parametrize("limited", [False, True])
def test_what_is_awaited_is_cancelled_at_the_deadline(library: Library, limited: bool) -> None:
    done: list[str] = []
    began = time.monotonic()
    effect: Any = do(guarded()).limit(SOON) if limited else guarded()
    within = None if limited else SOON
    with pytest.raises(DeadlineExceeded, match=r"not done within 0.05 s \(Ask was running\)"):
        library.run(lambda: at(N0).do(effect).run_async(hanging(library, done), within=within))
    assert SOON <= time.monotonic() - began < PATIENT / 2
    assert done == DONE


@each_library
def test_an_attempt_that_was_cancelled_at_its_limit_is_tried_again(library: Library) -> None:
    asked: list[str] = []

    async def answer(command: Ask) -> int:
        asked.append(command.name)
        await library.sleep(PATIENT if len(asked) == 1 else 0)
        return 7

    interpreter = clock | Ask.awaited_by(answer) | Delay.awaited_by(lambda _: library.sleep(0))
    program = at(N1).retry(do(work).limit(SOON))
    assert library.run(lambda: program.run_async(interpreter)) == 7
    assert asked == ["work", "work"]


@each_library
def test_a_real_wait_that_ends_too_late_is_not_begun(library: Library) -> None:
    async def answer(command: Ask) -> int:
        await library.sleep(0)
        raise NotReady

    interpreter = (
        clock | Ask.awaited_by(answer) | Delay.awaited_by(lambda w: library.sleep(w.seconds))
    )
    began = time.monotonic()
    with pytest.raises(NotReady):
        library.run(
            lambda: (
                at(N1).retry(work).run_async(interpreter, within=0.3, schedule=Constant(PATIENT))
            )
        )
    assert time.monotonic() - began < PATIENT / 2


@pytest.mark.parametrize("seconds", [SOON, PATIENT])
def test_in_asyncio_a_time_out_around_it_is_its_own(seconds: float) -> None:
    done: list[str] = []

    async def main() -> None:
        program = at(N3).retry(do(guarded()).limit(PATIENT), on=Exception)
        async with asyncio.timeout(0.01):
            await program.run_async(hanging(LIBRARIES["asyncio"], done), within=seconds)

    with pytest.raises(TimeoutError) as raised:
        asyncio.run(main())
    assert not isinstance(raised.value, DeadlineExceeded)
    assert done == DONE


def test_in_asyncio_a_cancelled_task_is_cancelled() -> None:
    done: list[str] = []

    async def main() -> None:
        program = at(N3).retry(do(guarded()).limit(SOON), on=Exception)
        task = asyncio.ensure_future(
            program.run_async(hanging(LIBRARIES["asyncio"], done), within=SOON)
        )
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(main())
    assert done == DONE


def test_in_asyncio_a_task_that_is_cancelled_at_its_deadline_is_cancelled() -> None:
    async def main() -> None:
        task: asyncio.Future[Any]

        async def answer(command: Ask) -> int:
            if command == work:
                asyncio.get_running_loop().call_later(SOON, task.cancel)
            await asyncio.sleep(PATIENT if command == work else 0)
            return 0

        interpreter = clock | Ask.awaited_by(answer)
        task = asyncio.ensure_future(at(N0).do(guarded()).run_async(interpreter, within=SOON))
        with pytest.raises((asyncio.CancelledError, DeadlineExceeded)):
            await task
        assert task.cancelling() == 1

    asyncio.run(main())


def test_in_trio_a_scope_around_it_is_its_own() -> None:
    done: list[str] = []

    async def main() -> None:
        program = at(N3).retry(do(guarded()).limit(SOON), on=Exception)
        with trio.move_on_after(0.01) as scope:
            await program.run_async(hanging(LIBRARIES["trio"], done), within=SOON)
        assert scope.cancelled_caught

    trio.run(main)
    assert done == DONE


@each_library
def test_programs_at_once_have_deadlines_of_their_own(library: Library) -> None:
    told: dict[float, list[float | None]] = {0.1: [], 0.2: [], 0.3: []}

    async def one(within: float) -> None:
        async def answer(command: Ask) -> int:
            await library.sleep(0.001)
            told[within].append(time_limit())
            return 0

        program = at(N0).do(two_of_them())
        await program.run_async(clock | Ask.awaited_by(answer), within=within)

    async def main() -> None:
        if library is LIBRARIES["trio"]:
            async with trio.open_nursery() as nursery:
                for within in told:
                    nursery.start_soon(one, within)
        else:
            await asyncio.gather(*(one(within) for within in told))

    library.run(main)
    for within, limits in told.items():
        first, second = limits
        assert within - 0.1 < (second or 0) < (first or 0) <= within


def test_without_an_event_loop_handlers_are_told_and_nobody_is_cancelled() -> None:
    told: list[float | None] = []

    async def answer(command: Ask) -> int:
        told.append(time_limit())
        return 7

    coroutine = at(N0).do(work).run_async(clock | Ask.awaited_by(answer), within=5)
    with pytest.raises(StopIteration) as end:
        coroutine.send(None)
    assert end.value.value == 7
    assert told[0] == pytest.approx(5, abs=1)


def test_the_clock_of_a_deadline_is_that_of_the_sleep() -> None:
    """A test in trio can have a clock that jumps, so that no real second passes."""

    async def hangs() -> None:
        await trio.sleep_forever()

    async def main() -> float:
        with pytest.raises(DeadlineExceeded):
            await backoff(N3, within=1000).call(hangs)
        return trio.current_time()

    began = trio.testing.MockClock(autojump_threshold=0)
    seconds = trio.run(main, clock=began)
    assert seconds == pytest.approx(1000)
