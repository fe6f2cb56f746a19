"""Blocking work beside an event loop, and awaiting where there is none."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import wait

import anyio
import anyio.to_thread
from anyio.from_thread import start_blocking_portal

from .times import Deadline

ASKED_AGAIN = 0.05  # seconds


async def in_thread(work: Callable[[], None]) -> None:
    """Do `work` in a thread; not even a cancelled caller goes on before it has ended."""
    failures: list[Exception] = []

    def kept() -> None:
        try:
            work()
        except Exception as error:
            failures.append(error)

    # In a task of its own: asyncio's own cancellation breaks through anyio's shields, but not
    # through the wait for a task.
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
    """Await `work` in an event loop of its own; what it awaits is cancelled when time is up.

    Args:
        work: called in that loop.
        deadline: when it has to be done; passes at once if it is to stop sooner.
        checkpoint: called again and again meanwhile; what it raises stops the work, too.
        grace: seconds for the work to see that it is to stop, and to tidy up.
    """

    async def limited() -> None:
        with deadline.kept(grace):
            await work()

    with start_blocking_portal() as portal:
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
