"""`no_waits`: waits take no time, in every thread and event loop, and leave nothing behind."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable
from threading import Barrier, Event, Thread
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import FOREVER, N1, N3, Misuse, NotReady, ServerError, at, backoff, call
from ixbackoff._running.sleeping import SWITCHES
from ixbackoff.live import live, live_async
from ixbackoff.observing import WaitBegan, observed
from ixbackoff.schedules import Constant
from ixbackoff.testing import no_waits
from ixbackoff.testing.suite_switches import NoRealWaits

from ..support.ways.functions import (
    ASYNC,
    SYNC,
    WAYS,
    Script,
    Way,
    in_asyncio,
    in_trio,
    program,
    seen,
)

AN_HOUR = Constant(3600)
EVERY_WAY: dict[str, Way] = {**WAYS, "program": program}
patiently = backoff(N3, schedule=AN_HOUR)


@patiently
def failing() -> None:
    raise NotReady


@pytest.mark.parametrize("way", EVERY_WAY.values(), ids=EVERY_WAY)
def test_waits_of_every_way_to_try_again_take_no_time_and_are_recorded(way: Way) -> None:
    script = Script([NotReady])
    with no_waits() as waits, pytest.raises(NotReady):
        way(patiently, script)
    assert script.calls == 4
    assert waits.waited == [3600, 3600, 3600]
    assert SWITCHES == []


@given(
    st.lists(
        st.integers(0, 5) | st.sampled_from([NotReady, lambda: ServerError(503, 9), KeyError]),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([*SYNC, program]),
    st.sampled_from(ASYNC),
)
def test_they_are_the_waits_that_would_be_slept(script: Any, sync: Way, awaited: Any) -> None:
    for way in (sync, in_asyncio(awaited), in_trio(awaited)):
        slept = seen(way, backoff(N3), script)
        with no_waits() as waits:
            assert seen(way, backoff(N3), script)._replace(waits=[]) == slept._replace(waits=[])
        assert waits.waited == slept.waits


def test_the_live_interpreters_do_not_wait_either() -> None:
    runs: list[Callable[[Any], Any]] = [
        lambda work: work.run(live(), schedule=AN_HOUR),
        lambda work: asyncio.run(work.run_async(live_async(), schedule=AN_HOUR)),
        lambda work: trio.run(lambda: work.run_async(live_async(), schedule=AN_HOUR)),
        lambda work: work.run(live(stop=Event()), schedule=AN_HOUR),
        lambda work: work.run(live(), schedule=AN_HOUR, stop=Event()),
    ]
    with no_waits() as waits:
        for run in runs:
            work: Any = at(N1).retry(call(int, "four"), on=ValueError)
            with pytest.raises(ValueError, match="invalid literal"):
                run(work)
            assert at(N1).wait().do(call(int)).run(live(), schedule=AN_HOUR) == 0
    assert waits.waited == [3600] * 10


def test_a_module_that_is_imported_later_does_not_wait() -> None:
    code = """
from ixbackoff.testing import no_waits
with no_waits() as waits:
    from ixbackoff import N1, Constant, at
    from ixbackoff.live import live
    at(N1).wait().run(live(), schedule=Constant(3600))
assert waits.waited == [3600]
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)  # noqa: S603


def in_threads(*work: Callable[[], object]) -> None:
    threads = [Thread(target=one) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def given_up() -> None:
    with pytest.raises(NotReady):
        failing()


def test_all_threads_are_meant_also_those_that_began_before() -> None:
    go_on = Event()

    def waiting() -> None:
        go_on.wait()
        given_up()

    before = Thread(target=waiting)
    before.start()
    with no_waits() as waits:
        go_on.set()
        in_threads(*[given_up] * 20)
        before.join()
    assert waits.waited == [3600] * 63


def sleep_recorded(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr(trio, "sleep", sleep)
    return slept


@pytest.mark.parametrize("way", EVERY_WAY.values(), ids=EVERY_WAY)
def test_it_can_begin_in_the_middle_of_a_call(monkeypatch: pytest.MonkeyPatch, way: Way) -> None:
    slept = sleep_recorded(monkeypatch)
    waits = no_waits()

    def begun() -> NotReady:
        waits.__enter__()
        return NotReady()

    script = Script([NotReady, begun, NotReady, 1])
    assert way(backoff(N3), script) == 1
    waits.__exit__(None, None, None)
    assert [seconds for seconds in slept if seconds] == [1]
    assert waits.waited == [2, 4]


@pytest.mark.parametrize("way", EVERY_WAY.values(), ids=EVERY_WAY)
def test_it_can_end_in_the_middle_of_a_call(monkeypatch: pytest.MonkeyPatch, way: Way) -> None:
    slept = sleep_recorded(monkeypatch)
    waits = no_waits()
    waits.__enter__()

    def ended() -> NotReady:
        waits.__exit__(None, None, None)
        return NotReady()

    assert way(backoff(N3), Script([NotReady, ended, NotReady, 1])) == 1
    assert waits.waited == [1]
    assert [seconds for seconds in slept if seconds] == [2, 4]


def test_nested_blocks_record_each_their_own() -> None:
    with no_waits() as outer:
        given_up()
        with no_waits() as inner:
            given_up()
        given_up()
    assert len(inner.waited) == 3
    assert len(outer.waited) == 9


def test_blocks_of_two_threads_can_overlap_in_any_order() -> None:
    begun, ended = Barrier(2), Event()
    lengths: list[int] = []

    def first() -> None:
        with no_waits():
            begun.wait()
        ended.set()

    def second() -> None:
        with no_waits() as waits:
            begun.wait()
            ended.wait()
            given_up()
            lengths.append(len(waits.waited))

    in_threads(first, second)
    assert lengths == [3]
    assert SWITCHES == []


def test_an_exception_ends_it() -> None:
    with pytest.raises(KeyError), no_waits():
        raise KeyError
    assert SWITCHES == []


# In an event loop a wait is still a place where others run and cancellation is seen.


@backoff(FOREVER)
async def for_ever() -> None:
    raise NotReady


def test_other_tasks_of_asyncio_run_and_it_can_be_cancelled() -> None:
    async def main() -> None:
        task = asyncio.create_task(for_ever())
        for _ in range(10):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await for_ever()

    with no_waits() as waits:
        asyncio.run(main())
    assert len(waits.waited) > 5
    assert SWITCHES == []


def test_other_tasks_of_trio_run_and_it_can_be_cancelled() -> None:
    async def main() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(for_ever)
            for _ in range(10):
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
        with trio.move_on_after(0.01) as scope:
            await for_ever()
        assert scope.cancelled_caught

    with no_waits() as waits:
        trio.run(main)
    assert len(waits.waited) > 5
    assert SWITCHES == []


def test_a_task_that_was_cancelled_before_its_wait_is_cancelled_in_it() -> None:
    async def main() -> None:
        tries = 0

        @backoff(FOREVER)
        async def cancelled() -> None:
            nonlocal tries
            tries += 1
            raise NotReady

        def cancel(event: Any) -> None:
            task = asyncio.current_task()
            if isinstance(event, WaitBegan) and task is not None:
                task.cancel()

        with observed(cancel), pytest.raises(asyncio.CancelledError):
            await asyncio.create_task(cancelled())
        assert tries == 1

    with no_waits():
        asyncio.run(main())


# Waits that are forbidden.


@pytest.mark.parametrize("way", EVERY_WAY.values(), ids=EVERY_WAY)
def test_a_wait_that_is_forbidden_is_a_misuse_that_nothing_tries_again(way: Way) -> None:
    script = Script([NotReady])
    everything = backoff(N3, on=Exception, schedule=AN_HOUR)
    with NoRealWaits() as waits, pytest.raises(Misuse, match="would really wait 3600 s: run it"):
        way(everything, script)
    assert script.calls == 1
    assert len(waits.refused) == 1
    assert SWITCHES == []


def test_no_step_recovers_from_it() -> None:
    program = at(N3).retry(call(int, "four"), on=Exception).or_else(call(int), on=Exception)
    with NoRealWaits(), pytest.raises(Misuse, match="would really wait 1 s"):
        program.run(live())


def test_waits_that_take_no_time_are_not_forbidden() -> None:
    for first, second in ((NoRealWaits(), no_waits()), (no_waits(), NoRealWaits())):
        with first, second:
            given_up()
