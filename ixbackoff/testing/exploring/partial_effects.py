"""Effects that are done in part: the handlers of a model mark where an effect may break off."""

from __future__ import annotations

from contextvars import Context, ContextVar, copy_context

__tracebackhide__ = True


class Broke(BaseException):
    """The exception that ends an effect at a `may_break()`."""


class Breaks:
    """A counter of the break points of one effect."""

    __slots__ = ("at", "passed")

    def __init__(self) -> None:
        self.at = 0  # the number of the point where the effect breaks off; 0 if it does not
        self.passed = 0  # the number of points that the effect has passed

    def context(self) -> Context:
        """Make a context in which `may_break()` uses this counter."""
        made = copy_context()
        made.run(BREAKS.set, self)
        return made


BREAKS: ContextVar[Breaks | None] = ContextVar("ixbackoff_breaks", default=None)


def may_break() -> None:
    """Mark a point in a handler of a model where the work of the handler may break off.

    A process may die here, or a disk be full. Outside of `explore` the call does nothing.

    >>> from ixbackoff.testing.exploring import may_break
    >>> may_break()
    """
    breaks = BREAKS.get()
    if breaks is not None:
        breaks.passed += 1
        if breaks.passed == breaks.at:
            raise Broke
