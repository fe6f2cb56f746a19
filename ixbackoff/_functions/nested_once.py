"""A decorated function inside another run, or inside a request: it may get a single try."""

from __future__ import annotations

from typing import Any

from .._limits.deadlines import time_around
from .._limits.nesting import served
from .._meaning.run_state import ProgramRun
from .._meaning.semantics import guards_of
from .._words.commands import Stream
from .._words.notes import add_note
from .called_function import Called
from .default_interpreters import interpreter, interpreter_async

__tracebackhide__ = True


def by_program(called: Called, args: tuple[Any, ...], kwargs: dict[str, Any], outer: object) -> Any:
    """Run a call as a program: with all tries if `outer` is `called`, else once (see `around`)."""
    try:
        within = hurry(called.backoff)
        return program_of(called, args, kwargs, outer).run(interpreter(), within=within)
    except Exception as failure:
        note_once(failure, called, outer)
        raise


async def by_program_async(
    called: Called, args: tuple[Any, ...], kwargs: dict[str, Any], outer: object
) -> Any:
    try:
        program, within = program_of(called, args, kwargs, outer), hurry(called.backoff)
        return await program.run_async(interpreter_async(), within=within)
    except Exception as failure:
        note_once(failure, called, outer)
        raise


def program_of(called: Called, args: tuple[Any, ...], kwargs: dict[str, Any], outer: object) -> Any:
    command = called.command(args, kwargs)
    if outer is called:
        return called.backoff._program(command)
    return guarded_once(called.backoff, outer)._once(command)


def once_in_request(called: Called) -> object:
    """Return the request being served, if its sender retries in place of this function."""
    request = served()
    if request is None or not called.top or not request.tries_once(called.once):
        return None
    return request


def hurry(backoff: Any) -> float | None:
    """Return the seconds for which the sender of the request being served will still wait.

    Return `None` if they are unknown, if a nearer limit applies, or if `within` is given.
    """
    left = time_around()
    if left is None or not left.foreign or backoff._settings.within is not None:
        return None
    return left.seconds


def noting_once(stream: Stream, inner: Called, outer: object) -> Stream:
    try:
        return (yield from stream)
    except Exception as failure:
        note_once(failure, inner, outer)
        raise


def guarded_once(backoff: Any, outer: object) -> Any:
    """Return `backoff` without the breaker and the gates that the outer try has passed already."""
    around = outer.inside.passed if isinstance(outer, ProgramRun) else ()
    if isinstance(outer, Called):
        around = guards_of(outer.backoff._settings) or ()
    inner, breaker = guards_of(backoff._settings) or (), backoff._settings.breaker
    left = [guard for guard in inner if guard not in around]
    if len(left) == len(inner):
        return backoff
    gates = tuple(guard for guard in left if guard is not breaker)
    return backoff.replace(breaker=breaker if breaker in left else None, through=gates or None)


def note_once(failure: Exception, inner: Called, outer: object) -> None:
    """Add a note of the single try. It lacks the prefix `NOTE`, so the outer run keeps it."""
    if outer is not inner:
        once = f"{inner.name} was tried once, because it was called inside "
        add_note(failure, once + str(outer), once)
