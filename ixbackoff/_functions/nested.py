"""Decorated functions inside one another: refused by name, or the inner one is tried once."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from .._limits.nesting import RUNNING, check_alone, this_thread
from .._words.calls import call, call_async
from .._words.commands import Stream
from .answering import interpreter, interpreter_async
from .called import Called


def outer_of(inner: Called) -> object:
    """Return what is around a decorated function or block, if that makes it try once.

    Raises:
        Misuse: as `check_alone` does.
    """
    last = this_thread()
    if RUNNING.get()[0] is None and last[0][0] is None and not last[1]:
        return None
    return check_alone(inner, once=True)


def tried_once(inner: Called, args: tuple[Any, ...], kwargs: dict[str, Any], outer: object) -> Any:
    """Try a call once, since it is inside another one that tries again."""
    try:
        backoff = guarded_once(inner.backoff, outer)
        return backoff._once(call(inner.function, *args, **kwargs)).run(interpreter())
    except Exception as failure:
        note_once(failure, inner, outer)
        raise


async def tried_once_async(
    inner: Called, args: tuple[Any, ...], kwargs: dict[str, Any], outer: object
) -> Any:
    """As `tried_once`, for a coroutine function."""
    command = call_async(inner.function, *args, **kwargs)
    try:
        backoff = guarded_once(inner.backoff, outer)
        return await backoff._once(command).run_async(interpreter_async())
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


def guarded_once(backoff: Any, outer: object) -> Any:
    """Return `backoff` without its breaker, if the try around it has gone through the same one.

    Else the inner try would be refused by the probe around it, and the breaker never close again.
    """
    around = outer.backoff._settings.breaker if isinstance(outer, Called) else None
    if around is None or around is not backoff._settings.breaker:
        return backoff
    return backoff.replace(breaker=None)


def note_once(failure: Exception, inner: Called, outer: object) -> None:
    """Say in a note why a failure was not tried again inside; the run around it leaves it there."""
    note = f"{inner.name} was tried once, since it was called inside {outer}"
    with suppress(Exception):  # some exceptions take no note
        if note not in getattr(failure, "__notes__", ()):
            failure.add_note(note)
