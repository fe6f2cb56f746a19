"""The answer of a command is what its handler answers, also where the command is generic."""

from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar, assert_type

from ixbackoff import N0, AsyncInterpreter, Call, Command, Delay, Interpreter, Log, at, call

A = TypeVar("A")
R = TypeVar("R")


class GetETag(Command[str]):
    __slots__ = ()


class Ask(Command[A], Generic[A]):
    __slots__ = ()


class AskTwice(Ask[int]):
    __slots__ = ()


asks = Ask[int].handled_by(lambda command: 3)
assert_type(asks, Interpreter[Ask[int]])
assert_type(at(N0).do(AskTwice()).run(asks), int)
assert_type(at(N0).do(call(str, 3)).run(Call[str].handled_by(lambda command: command())), str)


def any_call(interpreter: Interpreter[Call[Any] | Delay]) -> None:
    assert_type(at(N0).do(call(str, 3)).run(interpreter), str)
    assert_type(at(N0).do(call(len, "a")).run(interpreter), int)


def part(interpreter: Interpreter[GetETag | Log | Call[Any]]) -> None:
    logs = Log.handled_as_in(interpreter)
    assert_type(logs, Interpreter[Log])
    assert_type(logs | GetETag.handled_as_in(interpreter), Interpreter[Log | GetETag])
    other = logs | Call[int].handled_by(lambda command: 3)
    assert_type(at(N0).do(call(len, "a")).run(other), int)


def part_async(interpreter: AsyncInterpreter[GetETag | Log]) -> None:
    assert_type(Log.handled_as_in(interpreter), AsyncInterpreter[Log])


def told(command: Command[R], handler: Callable[[Command[R]], R]) -> R:
    print(command)
    return handler(command)


def patient(command: Command[Any], handler: Callable[[Any], Any]) -> Any:
    return handler(command)


class Counting:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self, command: Command[R], handler: Callable[[Command[R]], R]) -> R:
        self.count += 1
        return handler(command)

    def count_one(self, command: Command[R], handler: Callable[[Command[R]], R], /) -> R:
        self.count += 1
        return handler(command)


async def told_later(command: Command[R], handler: Callable[[Command[R]], Awaitable[R]]) -> R:
    return await handler(command)


def around(tags: Interpreter[GetETag | Log]) -> None:
    assert_type(tags.around(told), Interpreter[GetETag | Log])
    assert_type(tags.around(patient), Interpreter[GetETag | Log])
    assert_type(tags.around(Counting()), Interpreter[GetETag | Log])
    assert_type(tags.around(Counting().count_one), Interpreter[GetETag | Log])
    assert_type(tags.around(lambda command, handler: handler(command)), Interpreter[GetETag | Log])


def around_async(tags: AsyncInterpreter[GetETag | Log]) -> None:
    assert_type(tags.around(told_later), AsyncInterpreter[GetETag | Log])
