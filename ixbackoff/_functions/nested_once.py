"""A decorated function inside another run: `nested="once"` gives it a single try."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from .._meaning.runs import ProgramRun
from .._meaning.semantics import guards_of
from .._words.commands import Stream
from .answering import interpreter, interpreter_async
from .called import Called

__tracebackhide__ = True


def by_program(called: Called, args: tuple[Any, ...], kwargs: dict[str, Any], outer: object) -> Any:
    """Run the program of a call; `outer` is the run around it, or `called` if there is none."""
    try:
        return program_of(called, args, kwargs, outer).run(interpreter())
    except Exception as failure:
        note_once(failure, called, outer)
        raise


async def by_program_async(
    called: Called, args: tuple[Any, ...], kwargs: dict[str, Any], outer: object
) -> Any:
    try:
        return await program_of(called, args, kwargs, outer).run_async(interpreter_async())
    except Exception as failure:
        note_once(failure, called, outer)
        raise


def program_of(called: Called, args: tuple[Any, ...], kwargs: dict[str, Any], outer: object) -> Any:
    command = called.command(args, kwargs)
    if outer is called:
        return called.backoff._program(command)
    return guarded_once(called.backoff, outer)._once(command)


def noting_once(stream: Stream, inner: Called, outer: object) -> Stream:
    try:
        return (yield from stream)
    except Exception as failure:
        note_once(failure, inner, outer)
        raise


def guarded_once(backoff: Any, outer: object) -> Any:
    """Return `backoff` without the guards of the outer run: its try has passed them already."""
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
    """Add a note, which the outer run does not remove: the nested call was tried once."""
    if outer is inner:
        return
    note = f"{inner.name} was tried once, because it was called inside {outer}"
    with suppress(Exception):  # some exceptions take no note
        if note not in getattr(failure, "__notes__", ()):
            failure.add_note(note)
