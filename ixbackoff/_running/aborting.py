"""Aborting the handlers of a thread, when another effect at the same time has failed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar


class Abort:
    """A request to abort effects that run at the same time, with callbacks that interrupt handlers.

    >>> abort = Abort()
    >>> abort.on_request(lambda: print("shut"))
    >>> abort.request()
    shut
    >>> abort.on_request(lambda: print("shut at once"))
    shut at once

    Attributes:
        requested: true once the effects are to be aborted.
    """

    __slots__ = ("_callbacks", "requested")

    def __init__(self) -> None:
        self._callbacks: list[Callable[[], object]] = []
        self.requested = False

    def on_request(self, callback: Callable[[], object]) -> None:
        """Call `callback` at the request, from another thread; at once if it was made already."""
        self._callbacks.append(callback)
        if self.requested:
            self.request()

    def request(self) -> None:
        """Abort the effects: call every callback once."""
        self.requested = True
        while self._callbacks:
            with suppress(IndexError, OSError):  # another thread was first; it is closed already
                self._callbacks.pop()()


ABORT: ContextVar[Abort | None] = ContextVar("ixbackoff_abort", default=None)


def check_not_aborted() -> None:
    """Check that a handler may go on; for handlers that look from time to time.

    Raises:
        ConnectionAbortedError: its effect is to be aborted.
    """
    abort = ABORT.get()
    if abort is not None and abort.requested:
        raise ConnectionAbortedError("aborted, since another effect at the same time has failed")
