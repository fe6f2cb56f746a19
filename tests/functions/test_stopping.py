"""Cancellation, interrupts and deadlines end a retry, in a try and in a wait."""

from __future__ import annotations

import asyncio
import time
import types
from collections.abc import Callable
from typing import Any

import pytest
import trio
import trio.testing

from ixbackoff import (
    N1,
    N3,
    DeadlineExceeded,
    NotReady,
    RetryBudget,
    answered_by,
    backoff,
    time_limit,
)
from ixbackoff._words.failure_classes import On
from ixbackoff.schedules import Constant

from ..support.ways.functions import (
    ASYNC,
    SYNC,
    WAYS,
    AnyBackoff,
    AsyncWay,
    Script,
    Way,
    calling,
    calling_async,
    in_an_async_block,
    in_asyncio,
    in_trio,
    program,
    seen,
    sleeps,
)

AN_HOUR = Constant(3600)
NO_LIMITS: list[dict[str, Any]] = [{}, {"within": 1e6}, {"budget": RetryBudget(10**9)}]
GREEDY: list[On] = [
    Exception,
    lambda failure: True,
    lambda failure: not isinstance(failure, KeyError),
]


def greedy() -> list[AnyBackoff]:
    """Make `backoff`s for which everything is worth another try."""
    return [backoff(N3, on=on, schedule=AN_HOUR, **limits) for on in GREEDY for limits in NO_LIMITS]


class Hanging(Script):
    """A function that says that it runs, and never ends."""

    def __init__(self, fails: bool, hang: Callable[[], Any]) -> None:
        super().__init__([NotReady])
        self.fails = fails
        self.hang = hang
        self.cleaned_up = False

    async def ask_async(self) -> int:
        try:
            if self.fails:
                return self.ask()
            self.calls += 1
            await self.hang()
        finally:
            self.cleaned_up = True
        raise AssertionError("it hangs")


FAILS = {"in a try": False, "in a wait": True}


@pytest.mark.parametrize("way", ASYNC)
@pytest.mark.parametrize("fails", FAILS.values(), ids=FAILS)
def test_a_cancelled_task_is_out_at_once_in_asyncio(way: AsyncWay, fails: bool) -> None:
    async def main(made: AnyBackoff) -> None:
        script = Hanging(fails, asyncio.Event().wait)
        task = asyncio.create_task(way(made, script))
        while not script.calls:
            await asyncio.sleep(0)
        for _ in range(10):  # to be in the wait, where it fails
            await asyncio.sleep(0)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=5)
        assert task in done
        assert task.cancelled()
        assert (script.calls, script.cleaned_up) == (1, True)

    for made in greedy():
        asyncio.run(main(made))


@pytest.mark.parametrize("way", ASYNC)
@pytest.mark.parametrize("fails", FAILS.values(), ids=FAILS)
def test_a_cancelled_scope_is_left_at_once_in_trio(way: AsyncWay, fails: bool) -> None:
    async def main(made: AnyBackoff) -> None:
        script = Hanging(fails, trio.sleep_forever)
        with trio.fail_after(5), trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(way, made, script)
                await trio.testing.wait_all_tasks_blocked()
                scope.cancel()
        assert scope.cancelled_caught
        assert (script.calls, script.cleaned_up) == (1, True)

    for made in greedy():
        trio.run(main, made)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_in_a_try_is_never_held_back(way: Way, interrupt: type[BaseException]) -> None:
    for made in greedy():
        script = Script([NotReady, interrupt])
        with sleeps() as waits, pytest.raises(interrupt) as caught:
            way(made, script)
        assert caught.value is script.raised[-1]
        assert (script.calls, waits) == (2, [3600])


@pytest.mark.parametrize("way", [program, *SYNC])
def test_an_interrupt_in_a_wait_is_never_held_back(way: Way, monkeypatch: Any) -> None:
    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", interrupted)
    for made in greedy():
        script = Script([NotReady])
        with pytest.raises(KeyboardInterrupt):
            way(made, script)
        assert script.calls == 1


@pytest.mark.parametrize("way", [program, *WAYS.values()], ids=["program", *WAYS])
def test_what_fails_in_a_wait_ends_it(way: Way) -> None:
    """A signal handler, for example, raises during a wait; no try follows, whatever `on` says."""

    def alarmed(seconds: float) -> None:
        raise TimeoutError("the alarm rang")

    async def alarmed_async(seconds: float) -> None:
        alarmed(seconds)

    def alarming(made: AnyBackoff, script: Script) -> int:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(time, "sleep", alarmed)
            patch.setattr(asyncio, "sleep", alarmed_async)
            patch.setattr(trio, "sleep", alarmed_async)
            return way(made, script)

    for made in greedy():
        outcome = seen(alarming, made, [NotReady])
        assert (outcome.calls, outcome.which) == (1, "TimeoutError('the alarm rang')")
        assert outcome.notes == ["ixbackoff: tries: 1, waits: 0, 0 s in all"]


@types.coroutine
def forever() -> Any:
    yield


def test_a_closed_coroutine_leaves_nothing_running() -> None:
    script = Hanging(False, forever)
    coroutine: Any = backoff(N3, on=lambda failure: True)(script.ask_async)()
    coroutine.send(None)
    coroutine.close()
    assert (script.calls, script.cleaned_up) == (1, True)


def test_waiting_needs_asyncio_or_trio() -> None:
    coroutine: Any = backoff(N3)(Script([NotReady]).ask_async)()
    with pytest.raises(TypeError, match="neither is running"):
        coroutine.send(None)


def failing_in_time() -> tuple[list[float | None], Callable[[], str]]:
    """A function that fails, and the time limits that it has read."""
    limits: list[float | None] = []

    def page() -> str:
        limits.append(time_limit())
        raise NotReady

    return limits, page


NOT_AGAIN = [
    "ixbackoff: not tried again: a wait of 4 s would not end before the deadline of 7 s",
    "ixbackoff: tries: 3, waits: 2, 3 s in all",
]


def test_a_function_is_told_what_is_left_of_its_time() -> None:
    limits, page = failing_in_time()
    world = calling()
    with answered_by(world.interpreter), pytest.raises(NotReady) as caught:
        backoff(N3, within=7)(page)()
    assert limits == [7, 6, 4]
    assert world.waits == [1, 2]
    assert caught.value.__notes__ == NOT_AGAIN


def test_a_coroutine_function_is_told_what_is_left_of_its_time() -> None:
    limits, page = failing_in_time()

    @backoff(N3, within=7)
    async def page_async() -> str:
        return page()

    world = calling_async()

    async def main() -> None:
        with answered_by(world.interpreter):
            await page_async()

    with pytest.raises(NotReady) as caught:
        asyncio.run(main())
    assert (limits, world.waits) == ([7, 6, 4], [1, 2])
    assert caught.value.__notes__ == NOT_AGAIN


def test_a_block_is_told_what_is_left_of_its_time() -> None:
    limits, page = failing_in_time()
    world = calling()

    def in_a_block() -> None:
        for one_try in backoff(N3, within=7):
            with one_try:
                page()

    with answered_by(world.interpreter), pytest.raises(NotReady) as caught:
        in_a_block()
    assert (limits, world.waits) == ([7, 6, 4], [1, 2])
    assert caught.value.__notes__ == NOT_AGAIN
    assert time_limit() is None


def test_without_a_deadline_there_is_no_time_limit() -> None:
    assert backoff(N3).call(time_limit) is None


IN_TASKS = [way for way in ASYNC if way is not in_an_async_block]  # no one else can end a block


@pytest.mark.parametrize("way", IN_TASKS)
def test_a_coroutine_function_that_hangs_is_ended_at_the_deadline(way: AsyncWay) -> None:
    made = backoff(N1, within=0.1)
    for hang, run in (
        (lambda: asyncio.Event().wait(), in_asyncio(way)),
        (trio.sleep_forever, in_trio(way)),
    ):
        script = Hanging(False, hang)
        with pytest.raises(DeadlineExceeded, match=r"not done within 0\.1 s"):
            run(made, script)
        assert (script.calls, script.cleaned_up) == (1, True)
