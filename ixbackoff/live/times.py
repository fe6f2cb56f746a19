"""When a live command has to be done."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager

from .._limits.deadlines import time_limit
from .limits import Limits


class Deadline:
    """The end of a live command: by its own limit, or sooner, by that of the program it is in.

    >>> Deadline(Limits(total_timeout=5.0)).of(30.0) <= 5.0
    True

    Args:
        limits: its own; it begins now, so before anything is imported.

    Attributes:
        what: what has to be done, as it may be shown.
    """

    __slots__ = ("end", "seconds", "what")

    def __init__(self, limits: Limits) -> None:
        given = time_limit()
        self.what = ""
        self.seconds = limits.total_timeout if given is None else min(limits.total_timeout, given)
        self.end = time.monotonic() + self.seconds

    @property
    def left(self) -> float:
        """Seconds; 0 if it is over."""
        return max(0.0, self.end - time.monotonic())

    def of(self, seconds: float | None) -> float:
        """So many seconds, or what is left."""
        return self.left if seconds is None else min(seconds, self.left)

    def check(self) -> None:
        """Raise TimeoutError if it is over."""
        if not self.left:
            raise self.exceeded()

    def pass_now(self) -> None:
        """From now on it is over."""
        self.end = time.monotonic()

    def exceeded(self) -> TimeoutError:
        return TimeoutError(f"{self.what}: not done within {self.seconds:g} s")

    @contextmanager
    def kept(self, grace: float = 0.0) -> Generator[None]:
        """What is awaited in this block is cancelled at the end, or so many seconds after it.

        Raises:
            TimeoutError: it was.
        """
        from anyio import move_on_after

        with move_on_after(self.left + grace) as scope:
            yield
        if scope.cancelled_caught:
            raise self.exceeded()
