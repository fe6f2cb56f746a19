"""Blocking work in a thread beside an event loop, and async work where no loop runs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import wait

import anyio
import anyio.to_thread
from anyio.from_thread import start_blocking_portal

from .loops import Loop
from .times import Deadline

ASKED_AGAIN = 0.05  # seconds


async def in_thread(work: Callable[[], None]) -> None:
    """Do `work` in a thread, and return when it has ended, even if the caller is cancelled."""
    failures: list[Exception] = []

    def kept() -> None:
        try:
            work()
        except Exception as error:
            failures.append(error)

    # The thread has a task of its own: a cancellation of asyncio gets through the shields of anyio,
    # but not through the wait for a task.
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.to_thread.run_sync, kept)
    for failure in failures:
        raise failure


def awaited(
    work: Callable[[], Awaitable[object]],
    deadline: Deadline,
    checkpoint: Callable[[], None],
    grace: float,
) -> None:
    """Await `work` in an event loop of its own, and cancel it at the deadline.

    Args:
        work: called in that loop.
        deadline: the time by which it has to be done.
        checkpoint: called every 50 milliseconds meanwhile; an exception of it stops the work.
        grace: seconds after the deadline in which the work may tidy up.
    """

    loop = Loop()

    async def limited() -> None:
        try:
            with deadline.kept(grace):
                await work()
        finally:
            await loop.settled()

    with start_blocking_portal("asyncio", {"loop_factory": lambda: loop}) as portal:
        future = portal.start_task_soon(limited)
        try:
            while not future.done():
                checkpoint()
                wait([future], ASKED_AGAIN)
        except BaseException:
            deadline.pass_now()
            wait([future], grace)
            raise
        future.result()
