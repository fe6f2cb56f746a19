"""The two loops, sync and async, that answer the commands of a program with handlers."""

from __future__ import annotations

from collections.abc import Generator
from types import CoroutineType, UnionType
from typing import Any, TypeAlias

from .._limits.breakers import checked_breaker
from .._limits.budgets import checked_budget
from .._limits.deadlines import checked_seconds, time_limit
from .._limits.event_loop import cancelled_since
from .._limits.gate_base import checked_gates
from .._limits.nesting import REJECTED, begin, carries_mark, check_not_rejected
from .._meaning.chains import Ladder, not_ended
from .._meaning.retrying import check_endless
from .._meaning.run_defaults import USUAL, Defaults, checked_longest
from .._meaning.run_state import ProgramRun
from .._meaning.semantics import unrolled
from .._words.commands import (
    AsyncInterpreter,
    Awaited,
    Command,
    Handler,
    Handlers,
    Interpreter,
    Misuse,
    Stream,
    inherited,
    raisable,
    unawaited,
)
from .._words.rungs import ENDLESS
from .._words.standard_commands import Delay, Now, Together, issued_in_line
from ..schedules.algebra import check_schedule
from .sleeping import log_ended
from .tasks_and_timeouts import shielded, with_timeout

__tracebackhide__ = True

AnyInterpreter: TypeAlias = "Interpreter[Any] | AsyncInterpreter[Any]"


def run(program: Ladder, interpreter: Interpreter[Any], how: Defaults) -> Any:
    check_run(program, interpreter, Interpreter, how)
    state, handlers = ProgramRun(program, how.schedule), interpreter._handlers
    stream = unrolled(program, how, interpreter._in_place, state, observed=True)
    if program._may_wait is False:
        return answered(stream, handlers)
    return alone(stream, handlers, state)


async def run_async(program: Ladder, interpreter: AnyInterpreter, how: Defaults) -> Any:
    check_run(program, interpreter, Interpreter | AsyncInterpreter, how)
    state, handlers = ProgramRun(program, how.schedule), interpreter._handlers
    stream = unrolled(program, how, interpreter._in_place, state, observed=True)
    if program._may_wait is False:
        return await answered_async(stream, handlers)
    state.cancelled = cancelled_since()
    return await alone_async(stream, handlers, state)


@carries_mark
def alone(stream: Stream, handlers: Handlers, state: ProgramRun) -> Any:
    """Answer the stream of a program that may wait; reject other such programs inside it."""
    state.mark = mine = [None, 0]
    try:
        begin(mine, state)
        answer = answered(stream, handlers)
        if REJECTED:
            check_not_rejected(mine)
        return answer  # noqa: TRY300
    except Exception as failure:
        if REJECTED:
            check_not_rejected(mine, failure)
        log_ended(state, failure, handlers)
        raise
    finally:
        mine[0] = None


@carries_mark
async def alone_async(stream: Stream, handlers: Handlers, state: ProgramRun) -> Any:
    state.mark = mine = [None, 0]
    try:
        begin(mine, state, awaits=True)
        answer = await answered_async(stream, handlers)
        if REJECTED:
            check_not_rejected(mine)
        return answer  # noqa: TRY300
    except Exception as failure:
        if REJECTED:
            check_not_rejected(mine, failure)
        log_ended(state, failure, handlers)
        raise
    finally:
        mine[0] = None


def check_run(
    program: Ladder, interpreter: AnyInterpreter, kinds: type | UnionType, how: Defaults
) -> None:
    if program._end:
        raise not_ended(program._end)
    if not isinstance(interpreter, kinds):
        hint = "make one with SomeCommand.handled_by(...)"
        if isinstance(interpreter, AsyncInterpreter):
            hint = "run an AsyncInterpreter with run_async"
        elif hasattr(interpreter, "interpreter"):
            hint = "give its .interpreter"
        elif callable(interpreter):
            hint = "call it first, or if it is a handler, pass it to SomeCommand.handled_by(...)"
        raise Misuse(f"{interpreter!r} is not an Interpreter: {hint}.")
    if program._may_wait and Delay not in interpreter._handlers:
        inherited(interpreter._handlers, Delay)
    if how is not USUAL:
        check_how(how, interpreter._handlers)
        if program._start == ENDLESS:
            check_endless(how.schedule)


def check_how(how: Defaults, handlers: Handlers) -> None:
    check_schedule(how.schedule)
    checked_longest(how.longest)
    checked_budget(how.budget)
    if how.breaker is not None:
        checked_breaker("breaker", how.breaker)
    if how.through is not None and checked_gates("through", how.through):
        for kind in (Now, Delay):
            inherited(handlers, kind)
    timed = how.within is not None and checked_seconds("within", how.within) is not None
    if timed or how.breaker is not None or (how.budget is not None and how.budget.timed):
        inherited(handlers, Now)


def answering(
    stream: Stream, handlers: Handlers, together: Any
) -> Generator[tuple[Handler, Command[Any]], Any, Any]:
    """Answer a stream of commands with handlers; yield each awaited handler with its command."""
    send, throw = stream.send, stream.throw
    command: Command[Any] | None = None
    try:
        command = send(None)
        while True:
            try:
                try:
                    handler = handlers[command.__class__]
                except KeyError:
                    handler = handler_of(handlers, command, together)
                if handler.__class__ is Awaited:
                    answer = yield handler.handler, command
                else:
                    answer = handler(command)
                    if answer.__class__ is CoroutineType:
                        raise unawaited(answer, command)
            except GeneratorExit:  # nothing can be awaited any more
                stream.close()
                raise
            except StopIteration as error:
                command = throw(raisable(error))
            except BaseException as error:
                command = throw(error)
            else:
                command = None  # a `Delay` refers to its failure, and so to the frames of the try
                command = send(answer)
    except StopIteration as end:
        return end.value
    finally:
        command = None


def answered(stream: Stream, handlers: Handlers) -> Any:
    run = answering(stream, handlers, in_threads_with)
    try:
        run.send(None)
    except StopIteration as end:
        return end.value
    except BaseException:  # Ctrl-C arrived in this frame, so the stream is still suspended
        stream.close()
        raise
    raise AssertionError("a handler is awaited in a sync run")


def in_threads_with(handlers: Handlers) -> Handler:
    from .concurrent_effects import InThreads

    def together(command: Together) -> Any:
        return InThreads(command, lambda stream: answered(stream, handlers)).run()

    return together


async def answered_async(stream: Stream, handlers: Handlers) -> Any:
    run = answering(stream, handlers, in_tasks_with)
    answer: Any = None
    failure: BaseException | None = None
    command: Command[Any] | None = None
    awaited: Any = None
    stopping = False  # whether the task was cancelled, and the program is cleaning up
    try:
        while True:
            handler, command = run.send(answer) if failure is None else run.throw(failure)
            answer = failure = None
            try:
                if stopping and (command.__class__ is not Delay or issued_in_line(command)):
                    with shielded():
                        answer = await handler(command)
                else:
                    stopping = False  # a program that waits has ended its cleanup
                    limit = time_limit()
                    awaited = handler(command)
                    answer = await (awaited if limit is None else with_timeout(limit, awaited))
                command = awaited = None
            except GeneratorExit:
                run.close()
                raise
            except BaseException as error:
                stopping = stopping or not isinstance(error, Exception)
                failure = error
    except StopIteration as end:
        return end.value
    except BaseException:  # Ctrl-C arrived in this frame, so the stream is still suspended
        run.close()
        stream.close()
        raise
    finally:
        failure = command = None


def in_tasks_with(handlers: Handlers) -> Awaited:
    from .concurrent_effects import in_tasks

    async def together(command: Together) -> Any:
        return await in_tasks(command, lambda stream: answered_async(stream, handlers))

    return Awaited(together)


def handler_of(handlers: Handlers, command: Command[Any], together: Any) -> Any:
    """Return the inherited handler of `command`; if `Together` has none, `together` makes one."""
    if isinstance(command, Together) and Together not in handlers:
        return together(handlers)
    return inherited(handlers, command.__class__)
