"""What asyncio and trio are needed for; neither is imported before the caller has done so."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import TypeVar

from .commands import Misuse

A = TypeVar("A")
S = TypeVar("S")


def running() -> tuple[ModuleType | None, ModuleType | None]:
    """`asyncio` or `trio`, whichever runs this: (asyncio, None), (None, trio) or neither."""
    trio, asyncio = sys.modules.get("trio"), sys.modules.get("asyncio")
    if trio is not None and trio.lowlevel.in_trio_run():
        return None, trio
    if asyncio is not None and asyncio._get_running_loop() is not None:
        return asyncio, None
    return None, None


def shielded() -> AbstractContextManager[object]:
    """Where a cancelled program's last commands run: cancelled once, they are not cancelled again.

    Plain asyncio cancels once; trio, and anyio on asyncio, cancel at every await until shielded.
    """
    asyncio, trio = running()
    library = trio
    if asyncio is not None:
        library = sys.modules.get("anyio")
    scope: AbstractContextManager[object] = (
        nullcontext() if library is None else library.CancelScope(shield=True)
    )
    return scope


def sleeping() -> Callable[[float], Awaitable[object]]:
    """The `sleep` of whichever runs this.

    Raises:
        Misuse: neither asyncio nor trio is running.
    """
    asyncio, trio = running()
    library = asyncio or trio
    if library is None:
        raise Misuse("Waiting needs asyncio or trio, and neither is running.")
    sleep: Callable[[float], Awaitable[object]] = library.sleep
    return sleep


async def ended_after(seconds: float, answer: Awaitable[A]) -> A:
    """The answer, if it comes in so many seconds; what gives it is cancelled then.

    Raises:
        TimeoutError: it did not come.
    """
    asyncio, trio = running()
    if asyncio is not None:
        async with asyncio.timeout(seconds):
            return await answer
    if trio is None:
        return await answer
    with trio.move_on_after(seconds) as scope:
        return await answer
    raise TimeoutError(f"not done within {scope.relative_deadline:g} s")


async def all_tasks(work: Callable[[int, S], Awaitable[None]], items: Sequence[S]) -> None:
    """Await `work(place, item)` for all items, each in a task of its own.

    Raises:
        BaseExceptionGroup: one failed, and the others were cancelled.
        Misuse: neither asyncio nor trio is running.
    """
    asyncio, trio = running()
    if asyncio is not None:
        async with asyncio.TaskGroup() as group:
            for place, item in enumerate(items):
                group.create_task(work(place, item))
    elif trio is not None:
        async with trio.open_nursery() as nursery:
            for place, item in enumerate(items):
                nursery.start_soon(work, place, item)
    else:
        raise Misuse("all_of in run_async needs asyncio or trio, and neither is running.")
