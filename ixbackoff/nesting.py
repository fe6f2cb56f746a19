"""The run-time side of "no retry in a retry"."""

from __future__ import annotations

from contextvars import ContextVar

from .chains import Chain, Ladder
from .commands import Misuse

RUNNING: ContextVar[Ladder | None] = ContextVar("ixbackoff_running", default=None)
"""The program with waits that is running here, in this thread and task."""


def begin(program: Ladder) -> None:
    """`program` begins to run; nothing that waits may run until its `end`.

    Raises:
        Misuse: another one is running.
    """
    if program.waits:
        if RUNNING.get() is not None:
            raise multiplied()
        RUNNING.set(program)


def end(program: Ladder) -> None:
    """`program` has ended."""
    if program.waits:
        RUNNING.set(None)


def check_begun(program: Chain) -> None:
    """A stream of commands with waits is not answered inside another program.

    Raises:
        Misuse: it would be.
    """
    running = RUNNING.get()
    inside = running is not None and running is not program
    if inside and isinstance(program, Ladder) and program.waits:
        raise multiplied()


def multiplied() -> Misuse:
    return Misuse(
        "A program with waits cannot run inside another one, or their retries would multiply: let "
        "the outer one issue the inner one's commands."
    )
