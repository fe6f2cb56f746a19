"""A handler takes its own kind of command, and returns what the command answers."""

from ixbackoff import Command, Download, Interpreter, Throw


class GetETag(Command[str]):
    __slots__ = ()


class FindCopy(Command[str | None]):
    __slots__ = ()


def number(command: GetETag) -> int:
    return 1


def perhaps(command: GetETag) -> str | None:
    return None


def other(command: FindCopy) -> str:
    return repr(command)


def nothing() -> str:
    return "a"


def quiet(command: Throw) -> None:
    print(command.error)


async def late(command: Download) -> None:
    print(command.url)


GetETag.handled_by(number)  # E: [arg-type]
GetETag.handled_by(perhaps)  # E: [arg-type]
GetETag.handled_by(other)  # E: [arg-type]
GetETag.handled_by(nothing)  # E: [arg-type]
GetETag.handled_by(lambda command: 1)  # E: [arg-type] [return-value]
GetETag.handled_by(lambda command: command.url)  # E: [attr-defined]
GetETag.handled_by("a")  # E: [arg-type]
GetETag.handled_by(GetETag())  # E: [arg-type]
Throw.handled_by(quiet)  # E: [arg-type]
Download.handled_by(late)  # E: [arg-type]
Download.handled_by(print(1))  # E: [arg-type]

GetETag.handled_by(lambda command: "a") | number  # E: [operator]
crossed: Interpreter[FindCopy] = GetETag.handled_by(repr)  # E: [assignment]
