"""Requests to abort the handlers of a thread: a concurrent effect failed, or the program stops."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar


class Abort:
    """A request to abort concurrent effects, with callbacks that interrupt their handlers.

    >>> abort = Abort()
    >>> abort.on_request(lambda: print("shut"))
    >>> abort.request()
    shut
    >>> abort.on_request(lambda: print("shut at once"))
    shut at once

    Attributes:
        requested: whether the request was made.
    """

    __slots__ = ("_callbacks", "requested")

    def __init__(self) -> None:
        self._callbacks: list[Callable[[], object]] = []
        self.requested = False

    def on_request(self, callback: Callable[[], object]) -> None:
        """Call `callback` from the requesting thread; at once if the request was made before."""
        self._callbacks.append(callback)
        if self.requested:
            self.request()

    def request(self) -> None:
        """Make the request: call every callback once."""
        self.requested = True
        while self._callbacks:
            with suppress(IndexError, OSError):  # another thread was first; the socket is closed
                self._callbacks.pop()()


ABORT: ContextVar[Abort | None] = ContextVar("ixbackoff_abort", default=None)


def check_not_aborted() -> None:
    """Check that the current handler is not aborted; for handlers that check now and then.

    Raises:
        ConnectionAbortedError: the handler is aborted.
    """
    abort = ABORT.get()
    if abort is not None and abort.requested:
        raise ConnectionAbortedError("aborted: a concurrent effect failed, or the program stops")
