"""A bound on the number of concurrent exchanges with one host."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from threading import Condition, RLock
from weakref import WeakValueDictionary

import anyio
import httpx2

from .._running.aborting_handlers import ABORT, check_not_aborted
from .limits import Deadline


class HostGate:
    """A gate that admits a limited number of threads for each host."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._inside: Counter[str] = Counter()
        # `with` uses this lock, not `_changed`: Ctrl-C in `Condition.__enter__` could leave it held
        self._lock = RLock()
        self._changed = Condition(self._lock)

    @contextmanager
    def inside(self, host: str, deadline: Deadline) -> Generator[None]:
        self.enter(host, deadline)
        try:
            yield
        finally:
            self.leave(host)

    def enter(self, host: str, deadline: Deadline) -> None:
        """Wait for room until the deadline; raise ConnectionAbortedError if the command aborts."""
        with self._lock:
            abort = ABORT.get()
            if abort is not None and self._inside[host] >= self._most:
                abort.on_request(self._wake)
            while self._inside[host] >= self._most:
                check_not_aborted()
                if not deadline.left:
                    raise httpx2.PoolTimeout("no room")
                self._changed.wait(deadline.left)
            self._inside[host] += 1

    def _wake(self) -> None:
        with self._lock:
            self._changed.notify_all()

    def leave(self, host: str) -> None:
        with self._lock:
            self._inside[host] -= 1
            if not self._inside[host]:
                del self._inside[host]
            self._changed.notify_all()


class AsyncHostGate:
    """A gate that admits a limited number of tasks of one event loop for each host."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._hosts: WeakValueDictionary[str, anyio.Semaphore] = WeakValueDictionary()

    def inside(self, host: str) -> anyio.Semaphore:
        """Return the semaphore of a host, which exists as long as a task uses it."""
        return self._hosts.setdefault(host, anyio.Semaphore(self._most))
