"""Turns: the tasks of one process perform a run one after another.

A run that is paused and resumed at once is begun again while its former task may still be in a
command. No other task of the run begins anything before that one has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


class Turns:
    """The runs that tasks of one event loop perform."""

    def __init__(self) -> None:
        self._taken: dict[str, asyncio.Event] = {}

    def taken(self, run: str) -> bool:
        """Return whether a task has the turn of a run; any thread may ask."""
        return run in self._taken

    @asynccontextmanager
    async def of(self, run: str) -> AsyncGenerator[None]:
        """Wait until no other task has the turn of a run, and have it for a block."""
        while (before := self._taken.get(run)) is not None:
            await before.wait()
        over = self._taken[run] = asyncio.Event()
        try:
            yield
        finally:
            del self._taken[run]
            over.set()
