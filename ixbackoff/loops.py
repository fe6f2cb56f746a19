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
from .semantics import unroll, unrolled
from .vocabulary import Delay

AnyInterpreter: TypeAlias = Interpreter[Any] | AsyncInterpreter[Any]


def run(program: Ladder, interpreter: Interpreter[Any], schedule: Schedule) -> Any:
    """The program's value, or its last failure."""
    checked_run(program, interpreter, Interpreter, schedule)
    mark = begin(program)
    try:
        stream = unrolled(program, schedule, interpreter._in_place)
        return answered(stream, interpreter._handlers)
    finally:
        end(mark)


async def run_async(program: Ladder, interpreter: AnyInterpreter, schedule: Schedule) -> Any:
    """As `run`."""
    checked_run(program, interpreter, Interpreter | AsyncInterpreter, schedule)
    mark = begin(program)
    try:
        return await answered_async(unroll(program, schedule), awaitable(interpreter))
    finally:
        end(mark)


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
                elif stopping and command.__class__ is not Delay:
                    with shielded():
                        answer = await handler(command)
                else:
                    stopping = False  # a program that goes on to wait has not stopped
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

    Plain asyncio cancels once; trio, and anyio on asyncio, cancel at every await until shielded.
    """
    trio, anyio, asyncio = (sys.modules.get(name) for name in ("trio", "anyio", "asyncio"))
    library = None
    if trio is not None and trio.lowlevel.in_trio_run():
        library = trio
    elif anyio is not None and asyncio is not None and asyncio._get_running_loop() is not None:
        library = anyio
    return nullcontext() if library is None else library.CancelScope(shield=True)
