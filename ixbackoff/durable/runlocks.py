"""Locks of runs: the tasks of one process perform a run one after another.

A run that is paused and immediately resumed is taken from its queue while its former task may still
perform a command. The new task performs no command before the former task has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class RunLocks:
    """A lock for each run that a task of an event loop performs."""

    def __init__(self) -> None:
        self._held: dict[str, asyncio.Event] = {}

    def held(self, run: str) -> bool:
        """Return whether a task holds the lock of a run; any thread may call this."""
        return run in self._held

    @asynccontextmanager
    async def of(self, run: str) -> AsyncGenerator[None]:
        """Hold the lock of a run in a block, once no other task holds it."""
        while (before := self._held.get(run)) is not None:
            await before.wait()
        over = self._held[run] = asyncio.Event()
        try:
            yield
        finally:
            del self._held[run]
            over.set()
