"""What is put around handlers answers what they answer, and part of an interpreter what it has."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from ixbackoff import AsyncInterpreter, Command, Delay, Interpreter, Log

R = TypeVar("R")


class GetETag(Command[str]):
    __slots__ = ()


def none(command: Command[R], handler: Callable[[Command[R]], R]) -> None:
    handler(command)


def number(command: Command[R], handler: Callable[[Command[R]], R]) -> int:
    return 3


def alone(command: Command[R]) -> R:
    raise NotImplementedError


def tag_only(command: GetETag, handler: Callable[[GetETag], str]) -> str:
    return handler(command)


def swapped(handler: Callable[[Command[R]], R], command: Command[R]) -> R:
    return handler(command)


async def late(command: Command[R], handler: Callable[[Command[R]], R]) -> R:
    return handler(command)


async def unawaited(command: Command[R], handler: Callable[[Command[R]], Awaitable[R]]) -> Awaitable[R]:
    return handler(command)


def awaited_by_nobody(command: Command[R], handler: Callable[[Command[R]], Awaitable[R]]) -> R:
    raise NotImplementedError


def around(tags: Interpreter[GetETag]) -> None:
    tags.around(none)  # E: [arg-type]
    tags.around(number)  # E: [arg-type]
    tags.around(alone)  # E: [arg-type]
    tags.around(tag_only)  # E: [arg-type]
    tags.around(swapped)  # E: [arg-type]
    tags.around(late)  # E: [arg-type]
    tags.around(lambda command, handler: 3)  # E: [arg-type]
    tags.around(3)  # E: [arg-type]


def around_async(tags: AsyncInterpreter[GetETag]) -> None:
    tags.around(unawaited)  # E: [arg-type]
    tags.around(awaited_by_nobody)  # E: [arg-type]


def part(tags: Interpreter[GetETag | Delay], later: AsyncInterpreter[GetETag]) -> None:
    Log.handled_as_in(tags)  # E: [arg-type]
    GetETag.handled_as_in(Delay)  # E: [call-overload]
    wrong: Interpreter[Delay] = GetETag.handled_as_in(tags)  # E: [assignment]
    both: Interpreter[GetETag | Delay] = GetETag.handled_as_in(tags)  # E: [assignment]
    sync: Interpreter[GetETag] = GetETag.handled_as_in(later)  # E: [assignment]
