"""The run-time side of "no retry in a retry"."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol, TypeAlias

from .._words.commands import Misuse

Mark: TypeAlias = list[object]
"""The program that runs, in this thread and task; it is taken out when it is over."""


class MayWait(Protocol):
    """A program: it waits, or it does not, or only the run will tell (`None`)."""

    @property
    def waits(self) -> bool | None: ...


RUNNING: ContextVar[Mark | None] = ContextVar("ixbackoff_running", default=None)


def begin(program: MayWait) -> Mark | None:
    """`program` begins to run; nothing that may wait runs inside it until its `end`.

    Raises:
        Misuse: it is inside another one itself.
    """
    return None if program.waits is False else begun(program)


def begun(program: object) -> Mark:
    """What may wait begins to run.

    Raises:
        Misuse: it is inside another one.
    """
    if RUNNING.get():
        raise multiplied()
    mark = [program]
    RUNNING.set(mark)
    return mark


def end(mark: Mark | None) -> None:
    """The program has ended, also for those that have a copy of its context."""
    if mark is not None:
        mark.clear()


def check_begun(program: object) -> None:
    """A stream of commands with waits is not answered inside another program.

    Raises:
        Misuse: it would be.
    """
    outer = RUNNING.get()
    inside = outer and outer[0] is not program
    if inside and getattr(program, "waits", False) is not False:
        raise multiplied()


def multiplied() -> Misuse:
    return Misuse(
        "What waits and tries again cannot run inside another one, or their retries would "
        "multiply: let the outer one alone try again."
    )
