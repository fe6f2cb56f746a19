"""Running a program: the two loops, sync and async, that answer its commands with handlers."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from types import CoroutineType, UnionType
from typing import Any, TypeAlias

from .chains import Ladder
from .commands import (
    AsyncInterpreter,
    Command,
    Handlers,
    Interpreter,
    Misuse,
    awaitable,
    inherited,
    unawaited,
)
from .nesting import begin, end
from .replay import Stream
from .schedules import Schedule
from .semantics import unroll
from .vocabulary import Delay

AnyInterpreter: TypeAlias = Interpreter[Any] | AsyncInterpreter[Any]


def run(program: Ladder, interpreter: Interpreter[Any], schedule: Schedule) -> Any:
    """The program's value, or its last failure."""
    checked_run(program, interpreter, Interpreter, schedule)
    handlers = interpreter._handlers
    try:
        return answered(unroll(program, schedule, handlers), handlers)
    finally:
        end(program)


async def run_async(program: Ladder, interpreter: AnyInterpreter, schedule: Schedule) -> Any:
    """As `run`."""
    checked_run(program, interpreter, Interpreter | AsyncInterpreter, schedule)
    try:
        return await answered_async(unroll(program, schedule), awaitable(interpreter))
    finally:
        end(program)


def checked_run(
    program: Ladder, interpreter: AnyInterpreter, kinds: type | UnionType, schedule: Schedule
) -> None:
    """Refuse what would go wrong later, before anything has been done."""
    if program.end:
        raise Misuse(
            f"The program is open, it ends at N{program.end}: end it with .give_up(), or go down "
            "with .retry(...)."
        )
    if not isinstance(interpreter, kinds):
        hint = "make one with SomeCommand.handled_by(...)"
        if isinstance(interpreter, AsyncInterpreter):
            hint = "run an AsyncInterpreter with run_async"
        elif hasattr(interpreter, "interpreter"):
            hint = "give its .interpreter"
        elif callable(interpreter):
            hint = "call it first"
        raise Misuse(f"{interpreter!r} is no Interpreter: {hint}.")
    if not callable(schedule):
        raise Misuse(
            f"schedule={schedule!r} is no function from k to seconds: use Exponential(...)."
        )
    if program.waits:
        inherited(interpreter._handlers, Delay)
    begin(program)


def answered(stream: Stream, handlers: Handlers) -> Any:
    """Answer a stream of commands with handlers until it ends; the sync loop."""
    send, throw = stream.send, stream.throw
    command: Command[Any] | None = None
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
    finally:
        command = None  # a wait holds its failure, whose traceback holds this frame


async def answered_async(stream: Stream, handlers: Handlers) -> Any:
    """Answer a stream of commands with handlers, awaited or not, until it ends."""
    send, throw = stream.send, stream.throw
    stopping = False
    command: Command[Any] | None = None
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
    finally:
        command = None  # a wait holds its failure, whose traceback holds this frame


def shielded() -> AbstractContextManager[object]:
    """Where a cancelled program's last commands run: cancelled once, they are not cancelled again.

    Plain asyncio cancels once; trio, and anyio on either, cancel at every await until shielded.
    """
    for library in ("anyio", "trio"):
        if library in sys.modules:
            scope: AbstractContextManager[object] = sys.modules[library].CancelScope(shield=True)
            return scope
    return nullcontext()
