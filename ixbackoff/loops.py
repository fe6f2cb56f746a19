"""The two loops, sync and async, that answer a stream of commands with handlers."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from types import CoroutineType
from typing import Any

from .commands import Handlers, inherited, unawaited
from .replay import Stream


def answered(stream: Stream, handlers: Handlers) -> Any:
    """Answer a stream of commands with handlers until it ends; the sync loop."""
    send, throw = stream.send, stream.throw
    try:
        command = send(None)
        while True:
            try:
                try:
                    handler = handlers[command.__class__]
                except KeyError:
                    handler = inherited(handlers, command.__class__)
                answer = handler(command)
                if answer.__class__ is CoroutineType:
                    raise unawaited(answer, command)
            except BaseException as error:
                command = throw(error)
            else:
                command = send(answer)
    except StopIteration as end:
        return end.value


async def answered_async(stream: Stream, handlers: Handlers) -> Any:
    """Answer a stream of commands with handlers, awaited or not, until it ends."""
    send, throw = stream.send, stream.throw
    stopping = False
    try:
        command = send(None)
        while True:
            try:
                try:
                    awaits, handler = handlers[command.__class__]
                except KeyError:
                    awaits, handler = inherited(handlers, command.__class__)
                if not awaits:
                    answer = handler(command)
                    if answer.__class__ is CoroutineType:
                        raise unawaited(answer, command)
                elif stopping:
                    with shielded():
                        answer = await handler(command)
                else:
                    answer = await handler(command)
            except GeneratorExit:  # nothing can be awaited any more
                stream.close()
                raise
            except BaseException as error:
                stopping = stopping or not isinstance(error, Exception)
                command = throw(error)
            else:
                command = send(answer)
    except StopIteration as end:
        return end.value


def shielded() -> AbstractContextManager[object]:
    """Where a cancelled program's last commands run: cancelled once, they are not cancelled again.

    Plain asyncio cancels once; trio, and anyio on either, cancel at every await until shielded.
    """
    for library in ("anyio", "trio"):
        if library in sys.modules:
            scope: AbstractContextManager[object] = sys.modules[library].CancelScope(shield=True)
            return scope
    return nullcontext()
