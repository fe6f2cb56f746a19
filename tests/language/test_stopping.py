"""Stopping: interrupts and cancellation are never swallowed, and cleaning up is carried out."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest
import trio

from ixbackoff import (
    N0,
    N1,
    N3,
    Delay,
    Do,
    NotReady,
    at,
    attempt,
    unroll,
)
from ixbackoff.schedules import Constant
from ixbackoff.testing import Virtual, answers

from ..support.ways.programs import Ask


class Stop(BaseException):
    """An interrupt, in place of KeyboardInterrupt."""


@attempt
def guarded() -> Do[Ask, int]:
    try:
        return (yield from Ask("work"))
    finally:
        yield from Ask("clean up")


@attempt
def guarded_twice() -> Do[Ask, int]:
    try:
        return (yield from guarded())
    finally:
        yield from Ask("clean up outside")


@pytest.mark.parametrize("catching", [(Exception,), lambda failure: True])
def test_what_is_no_exception_is_never_held_back_and_cleaning_up_is_carried_out(
    catching: Any,
) -> None:
    world = Virtual(Ask.handled_by(answers(Stop(), 0, 0)))
    program = at(N3).retry(guarded_twice(), on=catching)
    with pytest.raises(Stop):
        program.run(world.interpreter)
    world.expect(Ask("work"), Ask("clean up"), Ask("clean up outside"))


def test_an_interrupt_in_a_wait_ends_the_program() -> None:
    def interrupted(command: Delay) -> None:
        raise KeyboardInterrupt

    world = Virtual(Ask.handled_by(answers(NotReady())) | Delay.handled_by(interrupted))
    with pytest.raises(KeyboardInterrupt):
        at(N3).retry(Ask("a"), on=lambda failure: True).run(world.interpreter)
    world.check_all_asked()


async def cancelled_in_asyncio(program: Callable[[], Any]) -> None:
    task = asyncio.create_task(program())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def hanging(done: list[str], sleep: Any) -> Any:
    async def answer(command: Ask) -> int:
        await sleep(60 if command.name == "work" else 0.001)
        done.append(command.name)
        return 0

    return Ask.awaited_by(answer) | Delay.awaited_by(lambda command: sleep(command.seconds))


def test_cancelled_in_asyncio_cleaning_up_is_carried_out() -> None:
    done: list[str] = []
    program = at(N3).retry(guarded_twice())
    interpreter = hanging(done, asyncio.sleep)
    asyncio.run(cancelled_in_asyncio(lambda: program.run_async(interpreter)))
    assert done == ["clean up", "clean up outside"]


def test_cancelled_in_trio_cleaning_up_is_carried_out() -> None:
    done: list[str] = []

    async def main() -> None:
        with trio.move_on_after(0.01) as scope:
            await at(N3).retry(guarded_twice()).run_async(hanging(done, trio.sleep))
        assert scope.cancelled_caught

    trio.run(main)
    assert done == ["clean up", "clean up outside"]


def test_a_closed_coroutine_leaves_nothing_running() -> None:
    ended: list[str] = []

    @attempt
    def watched() -> Do[Ask, int]:
        try:
            return (yield from Ask("work"))
        finally:
            ended.append("finally")

    coroutine = at(N0).do(watched()).run_async(hanging([], asyncio.sleep))

    async def main() -> None:
        task = asyncio.ensure_future(asyncio.wait_for(coroutine, 0.01))
        with pytest.raises(TimeoutError):
            await task

    asyncio.run(main())
    assert ended == ["finally"]


def test_a_closed_stream_ends_though_its_attempts_clean_up() -> None:
    stream = unroll(at(N3).retry(guarded_twice()))
    assert next(stream) == Ask("work")
    stream.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # Python's own
def test_a_closed_stream_says_of_an_attempt_that_it_goes_on() -> None:
    @attempt
    def stubborn() -> Do[Ask, int]:
        while True:
            try:
                yield from Ask("work")
            except BaseException:  # noqa: S112
                continue

    stream = unroll(at(N0).do(stubborn()))
    next(stream)
    with pytest.raises(RuntimeError, match="An attempt continues although it is closed"):
        stream.close()
    del stream
    gc.collect()


def test_a_closed_coroutine_ends_its_attempts() -> None:
    ended: list[str] = []

    @attempt
    def watched() -> Do[Ask, int]:
        try:
            return (yield from guarded())
        finally:
            ended.append("finally")

    @types.coroutine
    def forever() -> Any:
        yield

    async def answer(command: Ask) -> int:
        await forever()
        return 0

    coroutine = at(N0).do(watched()).run_async(Ask.awaited_by(answer))
    coroutine.send(None)
    coroutine.close()
    assert ended == ["finally"]


def test_a_program_that_outlives_a_cancellation_can_be_cancelled_in_its_waits() -> None:
    @attempt
    def outliving() -> Do[Ask, int]:
        try:
            return (yield from Ask("work"))
        except BaseException as error:
            raise NotReady from error

    async def main() -> None:
        with trio.move_on_after(0.01) as scope:
            await (
                at(N1).retry(outliving()).run_async(hanging([], trio.sleep), schedule=Constant(60))
            )
        assert scope.cancelled_caught

    trio.run(main)


ALONE = """
import asyncio, sys
import {library}
from ixbackoff import N0, Command, Do, at, attempt
sys.modules.pop("anyio", None) if "{library}" == "trio" else None

class Ask(Command[int]):
    __slots__ = ()

@attempt
def guarded():
    try:
        yield from Ask()
    finally:
        yield from Ask()

asked = []
async def answer(command):
    asked.append(command)
    if len(asked) == 1:
        raise {error}
    return 0

coroutine = at(N0).do(guarded()).run_async(Ask.awaited_by(answer))
try:
    {run}
except {error}:
    print(len(asked))
"""


@pytest.mark.parametrize(
    ("library", "run", "error"),
    [
        ("trio", "asyncio.run(coroutine)", "asyncio.CancelledError"),
        ("anyio", "asyncio.run(coroutine)", "asyncio.CancelledError"),
        ("anyio", "coroutine.send(None)", "KeyboardInterrupt"),
        ("trio", "coroutine.send(None)", "KeyboardInterrupt"),
    ],
)
def test_cleaning_up_depends_on_the_loop_that_runs_and_not_on_what_is_imported(
    library: str, run: str, error: str
) -> None:
    code = ALONE.format(library=library, run=run, error=error)
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("2\n", "")
