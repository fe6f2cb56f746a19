"""Effects that are done in part: a handler of a model says where they may break."""

from __future__ import annotations

from contextvars import Context, ContextVar, copy_context

__tracebackhide__ = True


class Broke(BaseException):
    """Thrown at a `may_break()`: the rest of the effect does not happen."""


class Breaks:
    """The points that one effect has passed, and the one where it ends.

    Attributes:
        at: the number of that point; 0 if it does not end before its end.
        passed: how many it has passed.
    """

    __slots__ = ("at", "passed")

    def __init__(self) -> None:
        self.at = self.passed = 0

    def context(self) -> Context:
        """Make a context in which `may_break()` counts here."""
        made = copy_context()
        made.run(BREAKS.set, self)
        return made


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
