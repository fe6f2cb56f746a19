"""A handler that is awaited is a coroutine function, and answers as its command says."""

from ixbackoff import Command, Download, Interpreter, Throw


class GetETag(Command[str]):
    __slots__ = ()


async def number(command: GetETag) -> int:
    return 1


async def other(command: Download) -> str:
    return command.url


def plain(command: GetETag) -> str:
    return repr(command)


async def quiet(command: Throw) -> None:
    print(command.error)


GetETag.awaited_by(number)  # E: [arg-type]
GetETag.awaited_by(other)  # E: [arg-type]
GetETag.awaited_by(plain)  # E: [arg-type]
GetETag.awaited_by(lambda command: "a")  # E: [arg-type] [return-value]
Throw.awaited_by(quiet)  # E: [arg-type]

as_plain: Interpreter[GetETag] = GetETag.awaited_by(number)  # E: [arg-type] [assignment]
