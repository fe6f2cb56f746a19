"""`CommandOrAttempt` is what can be tried at a rung: a command, an attempt, or what iterates so."""

from collections.abc import Generator
from typing import Any, assert_type

from ixbackoff import N3, Attempt, Command, Download, CommandOrAttempt, Log, Program, at, do


class GetETag(Command[str]):
    __slots__ = ()


class Twice:
    def __iter__(self) -> Generator[Log, Any, int]:
        yield from Log("one")
        yield from Log("two")
        return 2


command: CommandOrAttempt[GetETag, str] = GetETag()
attempted: CommandOrAttempt[GetETag | Log, object] = do(GetETag())
own: CommandOrAttempt[Log, int] = Twice()

assert_type(do(own), Attempt[Log, int])
assert_type(at(N3).do(Twice()), Program[N3, N3, int, Log])


def either(large: bool) -> CommandOrAttempt[Download | GetETag, str | None]:
    return GetETag() if large else Download("http://localhost/a", "a")


assert_type(at(N3).do(either(True)), Program[N3, N3, str | None, Download | GetETag])
