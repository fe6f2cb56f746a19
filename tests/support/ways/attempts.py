"""Attempts of a few commands that clean up, or that swallow failures."""

from __future__ import annotations

from typing import Any

from ixbackoff import Do, NotReady, attempt

from .programs import Ask

a, b, c = Ask("a"), Ask("b"), Ask("c")
work, clean_up = Ask("work"), Ask("clean up")


@attempt
def guarded(effect: Any = work) -> Do[Ask, int]:
    """Clean up after an effect, however it ends."""
    try:
        answer: int = yield from effect
    finally:
        yield from clean_up
    return answer


@attempt
def two_of_them() -> Do[Ask, int]:
    first = yield from Ask("first")
    return first + (yield from Ask("second"))


@attempt
def holding(what: type[BaseException], then: BaseException | None = None) -> Do[Ask, int]:
    try:
        return (yield from Ask("work"))
    except what:
        if then is not None:
            raise then from None
        return -1


class Stop(BaseException):
    """An interrupt, in place of KeyboardInterrupt."""


class Broken(Exception):
    """A failure that is not worth another try."""


class Failed(NotReady):
    """A failure with weak references."""


def fail() -> None:
    raise Failed
