"""Effects at the same time, in tasks of asyncio and of trio."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import trio

from ixbackoff import (
    N0,
    N2,
    N3,
    DeadlineExceeded,
    Delay,
    Misuse,
    NotReady,
    all_of,
    at,
    call_async,
    do,
)
from ixbackoff.live import live_async

from ..support.ways.attempts import Broken, Failed, Stop, a, b, guarded
from ..support.ways.libraries import LIBRARIES, PATIENT, SOON, Library, clock, each_library
from ..support.ways.programs import Ask


def meeting(library: Library, number: int) -> Callable[[], Any]:
    """A handler that answers once so many commands wait for it."""
    here = [0]

    async def meet() -> int:
        here[0] += 1
        place = here[0]
        while here[0] < number:
            await library.sleep(0)
        return place

    return meet


def run_in(library: Library, program: Any, interpreter: Any, **arguments: Any) -> Any:
    return library.run(lambda: program.run_async(interpreter, **arguments))


@each_library
def test_tasks_run_at_the_same_time_and_answer_in_order(library: Library) -> None:
    meet = meeting(library, 3)
    met: list[int] = run_in(library, at(N0).do(all_of([call_async(meet)] * 3)), live_async())
    assert sorted(met) == [1, 2, 3]

    async def after(seconds: float, number: int) -> int:
        await library.sleep(seconds)
        return number

    program = at(N0).do(all_of([call_async(after, 0.02, 1), call_async(after, 0.001, 2)]))
    assert run_in(library, program, live_async()) == [1, 2]


@each_library
def test_tasks_in_tasks_run_at_the_same_time(library: Library) -> None:
    meet = meeting(library, 4)
    pair: Any = all_of([call_async(meet)] * 2)
    met: Any = run_in(library, at(N0).do(all_of([pair, pair])), live_async())
    assert sorted(place for both in met for place in both) == [1, 2, 3, 4]


def hanging(library: Library, done: list[str]) -> Any:
    """`a` hangs, `b` fails soon, and the rest is done soon."""

    async def answer(command: Ask) -> int:
        try:
            await library.sleep(PATIENT if command == a else 0.005)
            if command == b:
                raise NotReady
            done.append(command.name)
        finally:
            done.append(f"{command.name} let go")
        return 0

    return clock | Ask.awaited_by(answer) | Delay.awaited_by(lambda wait: library.sleep(0))


@each_library
def test_when_a_task_fails_the_others_are_cancelled(library: Library) -> None:
    done: list[str] = []
    with pytest.raises(NotReady) as raised:
        run_in(library, at(N0).do(all_of([guarded(a), b])), hanging(library, done))
    assert done == ["b let go", "a let go", "clean up", "clean up let go"]
    assert raised.value.__notes__ == ["ixbackoff: tries: 1, waits: 0, 0 s in all"]


@each_library
def test_tasks_that_fail_are_tried_again_as_one(library: Library) -> None:
    done: list[str] = []
    with pytest.raises(NotReady):
        run_in(library, at(N2).retry(all_of([guarded(a), b])), hanging(library, done))
    assert done == 3 * ["b let go", "a let go", "clean up", "clean up let go"]


@each_library
def test_a_failure_in_a_task_keeps_its_cause(library: Library) -> None:
    async def fail() -> None:
        await library.sleep(0)
        raise NotReady from Broken()

    with pytest.raises(NotReady) as raised:
        run_in(library, at(N0).do(all_of([call_async(fail)])), live_async())
    assert isinstance(raised.value.__cause__, Broken)


@each_library
@pytest.mark.parametrize("limited", [False, True])
def test_tasks_are_cancelled_at_the_deadline(library: Library, limited: bool) -> None:
    done: list[str] = []
    both: Any = all_of([guarded(a), guarded(a)])
    program = at(N0).do(do(both).limit(SOON) if limited else both)
    within = None if limited else SOON
    with pytest.raises(DeadlineExceeded, match=r"not done within 0\.05 s"):
        run_in(library, program, hanging(library, done), within=within)
    assert Counter(done) == {"a let go": 2, "clean up": 2, "clean up let go": 2}


@each_library
def test_a_stop_in_a_task_is_not_held_back(library: Library) -> None:
    async def stop() -> None:
        await library.sleep(0)
        raise Stop

    async def fail() -> None:
        try:
            await library.sleep(PATIENT)
        finally:
            raise NotReady

    program = at(N3).retry(all_of([call_async(fail), call_async(stop)]), on=Exception)
    with pytest.raises(Stop):
        run_in(library, program, live_async())


def test_in_asyncio_a_cancellation_reaches_all_tasks() -> None:
    done: list[str] = []

    async def main() -> None:
        program = at(N3).retry(all_of([guarded(a), guarded(a)]), on=Exception)
        interpreter = hanging(LIBRARIES["asyncio"], done)
        task = asyncio.ensure_future(program.run_async(interpreter))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert Counter(done) == {"a let go": 2, "clean up": 2, "clean up let go": 2}


def test_in_trio_a_cancellation_reaches_all_tasks() -> None:
    done: list[str] = []

    async def main() -> None:
        program = at(N3).retry(all_of([guarded(a), guarded(a)]), on=Exception)
        with trio.move_on_after(0.01) as scope:
            await program.run_async(hanging(LIBRARIES["trio"], done))
        assert scope.cancelled_caught

    trio.run(main)
    assert Counter(done) == {"a let go": 2, "clean up": 2, "clean up let go": 2}


def test_in_asyncio_what_is_cancelled_by_itself_is_no_answer() -> None:
    async def cancelled() -> int:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(at(N0).do(all_of([call_async(cancelled)])).run_async(live_async()))


def test_tasks_need_an_event_loop() -> None:
    coroutine = at(N0).do(all_of([a])).run_async(Ask.handled_by(lambda command: 1))
    with pytest.raises(Misuse, match="need asyncio or trio"):
        coroutine.send(None)


@each_library
def test_tasks_keep_no_failure_alive(library: Library) -> None:
    kept: list[weakref.ref[BaseException]] = []

    async def failing() -> None:
        await library.sleep(0)
        raise Failed

    async def main() -> None:
        gc.collect()
        gc.disable()
        try:
            await at(N0).do(all_of([call_async(failing)])).run_async(live_async())
        except Failed as error:
            kept.append(weakref.ref(error))
        assert [failure() for failure in kept] == [None]

    try:
        library.run(main)
    finally:
        gc.enable()
