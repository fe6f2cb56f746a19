"""A command answers one type exactly: a handler of a wider command is not one of a narrower."""

from collections.abc import Generator
from typing import Any, Generic, Self, TypeVar

from ixbackoff import N0, AsyncInterpreter, Call, CallAsync, Command, Interpreter, at, call

A = TypeVar("A")


class GetETag(Command[str]):
    __slots__ = ()


class Ask(Command[A], Generic[A]):
    __slots__ = ()


class Overriding(Command[int]):
    def handled_by(self) -> Any: ...  # E: [misc] [override]
    def awaited_by(self) -> Any: ...  # E: [misc] [override]
    def handled_as_in(self) -> Any: ...  # E: [misc] [override]


class Other(Command[int]):
    def __iter__(self) -> Generator[Self, Any, str]:  # E: [override]
        return "a"
        yield


async def later(command: Command[object]) -> int:
    return 3


anything = Command[object].handled_by(lambda command: 3)
calls = Call[object].handled_by(lambda command: 3)
asks = Ask[object].handled_by(lambda command: 3)

tags: Interpreter[GetETag] = anything  # E: [assignment]
words: Interpreter[Call[str]] = calls  # E: [assignment]
wider: Interpreter[Call[object]] = Call[int].handled_by(lambda command: 3)  # E: [assignment]
answers: Interpreter[Ask[str]] = asks  # E: [assignment]
tags_later: AsyncInterpreter[GetETag] = Command[object].awaited_by(later)  # E: [assignment]
command: Command[object] = GetETag()  # E: [assignment]
awaited: CallAsync[object] = CallAsync[str](later)  # E: [assignment]

at(N0).do(GetETag()).run(anything)  # E: [arg-type]
at(N0).do(call(str, 3)).run(calls)  # E: [arg-type]
at(N0).do(Ask[str]()).run(asks)  # E: [arg-type]
at(N0).do(Ask[str]()).run(Ask[int].handled_by(lambda command: 3))  # E: [arg-type]
at(N0).do(Ask[str]()).run(Ask[object].handled_by(lambda command: 3) | anything)  # E: [operator]
