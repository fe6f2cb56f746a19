"""Deadlines of live commands."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager

from .._limits.deadlines import time_limit
from .limits import Limits


class Deadline:
    """The time by which a live command has to be done: by its own limit or that of its program.

    >>> Deadline(Limits(total_timeout=5.0)).of(30.0) <= 5.0
    True

    Args:
        limits: the limits of the command. Its time begins now, before any import.

    Attributes:
        what: a description of the command, without secrets.
    """

    __slots__ = ("end", "seconds", "what")

    def __init__(self, limits: Limits) -> None:
        given = time_limit()
        self.what = ""
        self.seconds = limits.total_timeout if given is None else min(limits.total_timeout, given)
        self.end = time.monotonic() + self.seconds

    @property
    def left(self) -> float:
        """The seconds that are left; 0 after the deadline."""
        return max(0.0, self.end - time.monotonic())

    def of(self, seconds: float | None) -> float:
        """Return `seconds`, or the seconds that are left if they are fewer."""
        return self.left if seconds is None else min(seconds, self.left)

    def check(self) -> None:
        """Raise `TimeoutError` after the deadline."""
        if not self.left:
            raise self.exceeded()

    def pass_now(self) -> None:
        """Let the deadline pass now."""
        self.end = time.monotonic()

    def exceeded(self) -> TimeoutError:
        return TimeoutError(f"{self.what}: not done within {self.seconds:g} s")

    @contextmanager
    def kept(self, grace: float = 0.0) -> Generator[None]:
        """Cancel what is awaited in this block at the deadline, or `grace` seconds after it.

        Raises:
            TimeoutError: the block was cancelled.
        """
        from anyio import move_on_after

        with move_on_after(self.left + grace) as scope:
            yield
        if scope.cancelled_caught:
            raise self.exceeded()
