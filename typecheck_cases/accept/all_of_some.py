"""`all_of` answers a list. Commands of different kinds are put into `do`, to keep their row."""

from typing import assert_type

from ixbackoff import N3, Attempt, Command, Delay, Do, Interpreter, Log, at, attempt, all_of, do


class GetETag(Command[str]):
    __slots__ = ()


@attempt
def careful() -> Do[GetETag | Log, str]:
    yield from do(Log("careful"))
    return (yield from do(GetETag()))


assert_type(all_of([GetETag(), GetETag()]), Attempt[GetETag, list[str]])
assert_type(all_of(GetETag() for _ in range(3)), Attempt[GetETag, list[str]])
assert_type(all_of([careful(), do(GetETag())]), Attempt[GetETag | Log, list[str]])
assert_type(all_of([do(Log("a")), do(Log("b"))]), Attempt[Log, list[None]])
assert_type(all_of([all_of([GetETag()])]), Attempt[GetETag, list[list[str]]])


def run(interpreter: Interpreter[GetETag | Log | Delay]) -> None:
    program = at(N3).retry(all_of([careful(), do(GetETag())]))
    assert_type(program.run(interpreter), list[str])
    assert_type(program.map(len).run(interpreter), int)
