"""What ends a handler from outside, when another effect at the same time has failed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar


class Ending:
    """Whether the effects of a thread are to end, and what makes its handler see it.

    >>> ending = Ending()
    >>> ending.by(lambda: print("shut"))
    >>> ending.begin()
    shut
    >>> ending.by(lambda: print("shut at once"))
    shut at once

    Attributes:
        begun: whether they are to.
    """

    __slots__ = ("_ends", "begun")

    def __init__(self) -> None:
        self._ends: list[Callable[[], object]] = []
        self.begun = False

    def by(self, end: Callable[[], object]) -> None:
        """Call `end` when they are to end, from another thread; at once if they are already."""
        self._ends.append(end)
        if self.begun:
            self.begin()

    def begin(self) -> None:
        """From now on they are to end."""
        self.begun = True
        while self._ends:
            with suppress(IndexError, OSError):  # another thread was first; it is closed already
                self._ends.pop()()


ENDING: ContextVar[Ending | None] = ContextVar("ixbackoff_ending", default=None)


def check_goes_on() -> None:
    """For handlers that look from time to time.

    Raises:
        ConnectionAbortedError: they are to end.
    """
    ending = ENDING.get()
    if ending is not None and ending.begun:
        raise ConnectionAbortedError("ended, since another effect at the same time has failed")
