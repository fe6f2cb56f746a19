"""Tasks, timeouts, shields and clocks, by asyncio or trio, whichever runs the caller."""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import Any, TypeVar

from .._limits.event_loop import running
from .._words.commands import Misuse

__tracebackhide__ = True

A = TypeVar("A")
S = TypeVar("S")


def shielded() -> AbstractContextManager[object]:
    """Return a context manager for a cleanup, in which an earlier cancellation is not raised again.

    Plain asyncio raises a cancellation once; trio, and anyio on asyncio, raise it at every await.
    """
    asyncio, trio = running()
    library = trio
    if asyncio is not None:
        library = sys.modules.get("anyio")
    scope: AbstractContextManager[object] = (
        nullcontext() if library is None else library.CancelScope(shield=True)
    )
    return scope


def now() -> float:
    """Return the seconds on the clock of `sleep`: trio and test loops have clocks of their own."""
    return clock()()


def clock() -> Callable[[], float]:
    """Return the clock of `sleep`; it is valid while the event loop of the caller runs."""
    asyncio, trio = running()
    if asyncio is not None:
        of_loop: Callable[[], float] = asyncio.get_running_loop().time
        return of_loop
    if trio is not None:
        of_trio: Callable[[], float] = trio.current_time
        return of_trio
    return time.monotonic


async def with_timeout(seconds: float, answer: Awaitable[A]) -> A:
    """Await `answer`; in asyncio or trio, cancel it after `seconds`, and raise `TimeoutError`."""
    asyncio, trio = running()
    if asyncio is not None:
        async with asyncio.timeout(seconds):
            return await answer
    if trio is None:
        return await answer
    with trio.move_on_after(seconds):
        return await answer
    raise TimeoutError(f"not done within {seconds:g} s")


async def all_tasks(
    work: Callable[[int, S], Awaitable[None]], items: Sequence[S], failures: list[BaseException]
) -> None:
    """Await `work(index, item)` for all items, each in a task of its own.

    If a task fails, its failure is added to `failures`, and the other tasks are cancelled. A
    cancellation from outside cancels all tasks, and is raised when they have ended.
    """
    asyncio, trio = running()
    if asyncio is not None:
        await asyncio_tasks(asyncio, work, items, failures)
    elif trio is not None:
        await trio_tasks(trio, work, items, failures)
    else:
        raise Misuse("all_of and hedges in run_async need asyncio or trio: neither is running.")


async def asyncio_tasks(
    asyncio: ModuleType,
    work: Callable[[int, S], Awaitable[None]],
    items: Sequence[S],
    failures: list[BaseException],
) -> None:
    # Not a TaskGroup: it drops a cancellation if a task fails meanwhile, treats a task that
    # cancelled itself as a success, and leaves reference cycles.
    async def recorded(index: int, item: S) -> None:
        try:
            await work(index, item)
        except GeneratorExit:
            raise
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError) and asyncio.current_task().cancelling():
                raise
            failures.append(error)
            cancel_all(but=index)

    def cancel_all(but: int | None = None) -> None:
        for index, task in enumerate(tasks):
            if index != but:
                task.cancel()

    tasks: list[Any] = []
    for index, item in enumerate(items):
        tasks.append(asyncio.create_task(recorded(index, item)))
    if failures:  # an eager task may have failed before the others were created
        cancel_all()
    cancellation: BaseException | None = None
    try:
        while not all(task.done() for task in tasks):
            try:
                await asyncio.wait(tasks)
            except asyncio.CancelledError as error:
                cancellation = error
                cancel_all()
        if cancellation is not None:
            raise cancellation
    finally:
        cancel_all()
        tasks.clear()
        del cancellation  # break the cycle of exception, traceback and this frame


async def trio_tasks(
    trio: ModuleType,
    work: Callable[[int, S], Awaitable[None]],
    items: Sequence[S],
    failures: list[BaseException],
) -> None:
    async def recorded(index: int, item: S) -> None:
        try:
            await work(index, item)
        except trio.Cancelled:
            raise
        except BaseException as error:
            failures.append(error)
            nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
        for index, item in enumerate(items):
            nursery.start_soon(recorded, index, item)
