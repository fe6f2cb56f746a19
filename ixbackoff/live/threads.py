"""Blocking work beside an event loop."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import anyio.to_thread


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
