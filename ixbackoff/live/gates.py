"""A bound on how many exchanges there are with one host at the same time."""

from __future__ import annotations

from collections import Counter
from threading import Condition

import anyio
import httpx2

from .._running.aborting import check_not_aborted
from .times import Deadline

LOOK = 0.05  # seconds between two looks whether the effect that waits was aborted


class Gate:
    """Lets at most so many threads in for each host.

    Args:
        most: how many.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._inside: Counter[str] = Counter()
        self._changed = Condition()

    def enter(self, host: str, deadline: Deadline) -> None:
        """Wait for a place.

        Raises:
            PoolTimeout: there was none before the deadline.
            ConnectionAbortedError: the effect was aborted.
        """
        with self._changed:
            while self._inside[host] >= self._most:
                if not deadline.left:
                    raise httpx2.PoolTimeout("no place")
                self._changed.wait(deadline.of(LOOK))
                check_not_aborted()
            self._inside[host] += 1

    def leave(self, host: str) -> None:
        with self._changed:
            self._inside[host] -= 1
            if not self._inside[host]:
                del self._inside[host]
            self._changed.notify_all()


class AsyncGate:
    """Lets at most so many tasks of one event loop in for each host.

    Args:
        most: how many.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._inside: Counter[str] = Counter()
        self._left: dict[str, anyio.Event] = {}

    async def enter(self, host: str) -> None:
        """Wait for a place."""
        while self._inside[host] >= self._most:
            await self._left.setdefault(host, anyio.Event()).wait()
        self._inside[host] += 1

    def leave(self, host: str) -> None:
        self._inside[host] -= 1
        if not self._inside[host]:
            del self._inside[host]
        if host in self._left:
            self._left.pop(host).set()
