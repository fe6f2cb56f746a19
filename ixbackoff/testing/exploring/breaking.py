"""Effects that are done in part: a handler of a model says where they may break."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

__tracebackhide__ = True


class Broke(BaseException):
    """Thrown at a `may_break()`: the rest of the effect does not happen."""


class Breaks:
    """The points that one effect has passed, and the one where it ends.

    Args:
        at: the number of that point; 0 if it does not end before its end.
    """

    __slots__ = ("at", "passed")

    def __init__(self, at: int = 0) -> None:
        self.at = at
        self.passed = 0


BREAKS: ContextVar[Breaks | None] = ContextVar("ixbackoff_breaks", default=None)


def may_break() -> None:
    """Say in a handler of a model that half of its work is done here, and that it may end so.

    A process may die here, or a disk be full. Outside of `explore` it does nothing.

    >>> from ixbackoff.testing.exploring import may_break
    >>> may_break()
    """
    breaks = BREAKS.get()
    if breaks is not None:
        breaks.passed += 1
        if breaks.passed == breaks.at:
            raise Broke


def broken_off(handler: Callable[[Any], Any], command: Any, breaks: Breaks) -> Any:
    """Ask a handler, and end its work at the point that `breaks` says."""
    BREAKS.set(breaks)
    try:
        return handler(command)
    except Broke:
        return None
    finally:
        BREAKS.set(None)
