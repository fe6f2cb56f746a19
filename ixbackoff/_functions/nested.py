"""Decorated functions inside one another: refused by name, or the inner one is tried once."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from .._limits.nesting import RUNNING, check_alone, this_thread
from .._meaning.defaults import ONCE
from .._words.commands import Stream
from .answering import interpreter, interpreter_async


class Called:
    """A decorated function, as errors name it and as the mark of its runs.

    >>> from ixbackoff import N3, backoff
    >>> str(Called(print, backoff(N3)))
    'print (backoff N3)'

    Attributes:
        once: true if a decorated function inside it, or around it, makes the inner one try once.
    """

    __slots__ = ("backoff", "name", "once")

    def __init__(self, function: Any, backoff: Any) -> None:
        self.name: str = getattr(function, "__qualname__", str(function))
        self.backoff = backoff
        self.once: bool = backoff.settings.nested == ONCE

    def __str__(self) -> str:
        return f"{self.name} (backoff {self.backoff.rung_name})"


def outer_of(inner: Called) -> object:
    """Return what is around a decorated function or block, if that makes it try once.

    Raises:
        Misuse: as `check_alone` does.
    """
    last = this_thread()
    if RUNNING.get()[0] is None and last[0][0] is None and not last[1]:
        return None
    return check_alone(inner, once=True)


def tried_once(backoff: Any, effect: Any, inner: Called, outer: object) -> Any:
    """Try a call once, since it is inside another one that tries again."""
    try:
        return backoff._once(effect).run(interpreter())
    except Exception as failure:
        note_once(failure, inner, outer)
        raise


async def tried_once_async(backoff: Any, effect: Any, inner: Called, outer: object) -> Any:
    """As `tried_once`, for a coroutine function."""
    try:
        return await backoff._once(effect).run_async(interpreter_async())
    except Exception as failure:
        note_once(failure, inner, outer)
        raise


def noting_once(stream: Stream, inner: Called, outer: object) -> Stream:
    """Pass on the commands of a block that is tried once, since it is inside something else."""
    try:
        return (yield from stream)
    except Exception as failure:
        note_once(failure, inner, outer)
        raise


def note_once(failure: Exception, inner: Called, outer: object) -> None:
    """Say in a note why a failure was not tried again inside; the run around it leaves it there."""
    note = f"{inner.name} was tried once, since it was called inside {outer}"
    with suppress(Exception):  # some exceptions take no note
        if note not in getattr(failure, "__notes__", ()):
            failure.add_note(note)
