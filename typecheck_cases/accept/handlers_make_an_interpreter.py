"""Each kind of command makes an interpreter of its handler, and `|` joins what they answer."""

from typing import Never, assert_type

from ixbackoff import AsyncInterpreter, Call, Command, Delay, Interpreter, Throw


class GetETag(Command[str]):
    __slots__ = ()


def get_etag(command: GetETag) -> str:
    return repr(command)


async def get_etag_later(command: GetETag) -> str:
    return repr(command)


def pause(delay: Delay) -> None:
    print(delay.seconds)


async def pause_later(delay: Delay) -> None:
    print(delay.seconds)


def throw(command: Throw) -> Never:
    raise command.error


tags = GetETag.handled_by(get_etag)
pauses = Delay.handled_by(pause)
tags_later = GetETag.awaited_by(get_etag_later)
pauses_later = Delay.awaited_by(pause_later)

assert_type(tags, Interpreter[GetETag])
assert_type(tags_later, AsyncInterpreter[GetETag])
assert_type(Throw.handled_by(throw), Interpreter[Throw])
assert_type(GetETag.handled_by(lambda command: repr(command)), Interpreter[GetETag])
assert_type(tags | pauses, Interpreter[GetETag | Delay])
assert_type(tags_later | pauses_later, AsyncInterpreter[GetETag | Delay])
assert_type(tags_later | pauses, AsyncInterpreter[GetETag | Delay])
assert_type(tags | pauses_later, AsyncInterpreter[GetETag | Delay])
assert_type(tags | pauses | tags_later, AsyncInterpreter[GetETag | Delay])

calls: Interpreter[Call[object]] = Call.handled_by(lambda command: command())
