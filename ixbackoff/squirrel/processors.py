"""Processors: jobs share one, where they hand the interpreter over to each other.

One thread of Python runs at a time, and each call to the system lets another one run. If that one
sleeps on another processor, it takes longer to wake it there than a job needs it for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Set
from contextlib import contextmanager, suppress

LARGE = 2**20
"""Bytes from which a body is worth a processor of its own: copying them needs no interpreter."""
FILTERED = "\nSeccomp:\t2\n"
PLACE = 36  # of the processor among the numbers that follow the name of a thread


class Processors:
    """The processors of this process."""

    def __init__(self) -> None:
        locked = getattr(sys, "_is_gil_enabled", lambda: True)()
        self._all: Set[int] = allowed() if locked else frozenset()
        self._one: Set[int] = frozenset()

    @contextmanager
    def shared(self) -> Generator[None]:
        """Have this thread, and those that it starts in this block, share a processor.

        It is the one that this thread is running on. The system lets other programs run elsewhere,
        if they may and there is a processor. Where it cannot do that, or where a filter of system
        calls might end this process for it, nothing changes.
        """
        self._one = self._all & here()
        try:
            run_on(self._one)
            yield
        finally:
            run_on(self._all)

    def leave(self, size: int | None) -> bool:
        """Let this thread run on any processor if it has a large body to work on.

        Args:
            size: the bytes of the body, `None` if that is not known.

        Returns:
            Whether it has left the others, and is to `rejoin` them.
        """
        large = bool(self._one) and (size is None or size >= LARGE)
        if large:
            run_on(self._all)
        return large

    def rejoin(self) -> None:
        """Have this thread share the processor again."""
        run_on(self._one)


def allowed() -> Set[int]:
    """Return the processors that this thread may choose from, if the system tells."""
    with suppress(AttributeError, OSError):
        return frozenset() if is_filtered() else os.sched_getaffinity(0)
    return frozenset()


def is_filtered() -> bool:
    """Return whether a filter holds that may end this process for one of its system calls."""
    with open("/proc/self/status") as status:
        return FILTERED in status.read()


def here() -> Set[int]:
    """Return the processor that this thread is running on, if the system tells.

    >>> len(here()) <= 1
    True
    """
    with suppress(OSError, ValueError, IndexError), open("/proc/thread-self/stat") as stat:
        return {int(stat.read().rpartition(")")[2].split()[PLACE])}
    return frozenset()


def run_on(processors: Set[int]) -> None:
    """Have this thread run on these processors alone; without any nothing changes."""
    with suppress(OSError):  # they may have been taken from this process meanwhile
        if processors:
            os.sched_setaffinity(0, processors)
