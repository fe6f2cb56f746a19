"""Requests to abort a thread's handlers, because another effect failed or won, or the run stops."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar


class Abort:
    """A request to abort concurrent effects, with callbacks that interrupt their handlers."""

    __slots__ = ("_callbacks", "requested")

    def __init__(self) -> None:
        self._callbacks: list[Callable[[], object]] = []
        self.requested = False  # true once the request was made

    def on_request(self, callback: Callable[[], object]) -> None:
        """Call `callback` in the thread that makes the request; at once if it was made before."""
        self._callbacks.append(callback)
        if self.requested:
            self.request()

    def request(self) -> None:
        self.requested = True
        while self._callbacks:
            # IndexError: another thread took the last callback; OSError: a socket was closed
            with suppress(IndexError, OSError):
                self._callbacks.pop()()


ABORT: ContextVar[Abort | None] = ContextVar("ixbackoff_abort", default=None)

COPY: ContextVar[str] = ContextVar("ixbackoff_copy", default="")
"""In a hedge's copy of an effect: a suffix for the names of its temporary files; else empty."""


def check_not_aborted() -> None:
    """Check that the current handler is not aborted; for handlers that check now and then.

    Raises:
        ConnectionAbortedError: the handler is aborted.
    """
    abort = ABORT.get()
    if abort is not None and abort.requested:
        raise ConnectionAbortedError("aborted: another effect failed or won, or the program stops")
