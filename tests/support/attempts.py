"""Attempts of a few commands: they clean up, or hold failures back."""

from __future__ import annotations

from typing import Any

from ixbackoff import Do, NotReady, attempt

from .observing import Ask

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
    """Stands for KeyboardInterrupt."""


class Broken(Exception):
    """Not worth another try."""


class Failed(NotReady):
    """Can be referred to weakly."""


def fail() -> None:
    raise Failed
