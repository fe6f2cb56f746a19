"""`all_of` answers a tuple with the type of each answer; of a list or a generator, a list."""

from typing import assert_type

from ixbackoff import N0, N3, Attempt, Call, Command, CommandOrAttempt, Delay, Do, Interpreter, Log, Z, at
from ixbackoff import Program, all_of, attempt, call, do


class GetETag(Command[str]):
    __slots__ = ()


class Count(Command[int]):
    __slots__ = ()


@attempt
def careful() -> Do[GetETag | Log, str]:
    yield from Log("careful")
    return (yield from GetETag())


@attempt
def nested() -> Do[GetETag | Count, int]:
    etag, count = yield from all_of(GetETag(), Count())
    return len(etag) + count


assert_type(all_of(GetETag()), Attempt[GetETag, tuple[str]])
assert_type(all_of(careful()), Attempt[GetETag | Log, tuple[str]])
assert_type(all_of(GetETag(), Count()), Attempt[GetETag | Count, tuple[str, int]])
assert_type(all_of(careful(), Count()), Attempt[GetETag | Log | Count, tuple[str, int]])
assert_type(all_of(do(Count()), careful(), Log("a")), Attempt[GetETag | Log | Count, tuple[int, str, None]])
assert_type(all_of(call(len, "a"), call(str, 3)), Attempt[Call[int] | Call[str], tuple[int, str]])
assert_type(all_of(Count(), Count(), Count(), Log("a")), Attempt[Count | Log, tuple[int, int, int, None]])
assert_type(
    all_of(Count(), Count(), GetETag(), Count(), Log("a")),
    Attempt[Count | GetETag | Log, tuple[int, int, str, int, None]],
)
assert_type(
    all_of(Count(), Count(), GetETag(), Count(), Log("a"), careful()),
    Attempt[Count | GetETag | Log, tuple[int, int, str, int, None, str]],
)
assert_type(
    all_of(GetETag(), Count(), GetETag(), Count(), Log("a"), careful(), Count()),
    Attempt[Count | GetETag | Log, tuple[str, int, str, int, None, str, int]],
)
assert_type(
    all_of(GetETag(), Count(), GetETag(), Count(), Log("a"), careful(), Count(), Log("b")),
    Attempt[Count | GetETag | Log, tuple[str, int, str, int, None, str, int, None]],
)
assert_type(
    all_of(Count(), Count(), Count(), Count(), Count(), Count(), Count(), Count(), Count()),
    Attempt[Count, tuple[int, ...]],
)
assert_type(all_of(all_of(GetETag(), Count()), Log("a")), Attempt[GetETag | Count | Log, tuple[tuple[str, int], None]])

mixed: list[CommandOrAttempt[GetETag | Count, str | int]] = [GetETag(), Count()]
assert_type(all_of(mixed), Attempt[GetETag | Count, list[str | int]])
some = [GetETag(), GetETag()]
assert_type(all_of(some), Attempt[GetETag, list[str]])
assert_type(all_of(*some), Attempt[GetETag, tuple[str, ...]])
assert_type(all_of(GetETag() for _ in range(3)), Attempt[GetETag, list[str]])
assert_type(all_of([careful(), do(GetETag())]), Attempt[GetETag | Log, list[str]])
assert_type(all_of([do(Log("a")), do(Log("b"))]), Attempt[Log, list[None]])
assert_type(all_of([all_of([GetETag()])]), Attempt[GetETag, list[list[str]]])
assert_type(at(N0).do(all_of(GetETag(), Count())), Program[N0, N0, tuple[str, int], GetETag | Count])


def second(pair: tuple[str, int]) -> int:
    return pair[1]


both = at(N3).retry(all_of(GetETag(), Count()))
assert_type(both.map(second), Program[N3, Z, int, GetETag | Count | Delay])


def run(interpreter: Interpreter[GetETag | Count | Log | Delay]) -> None:
    program = at(N3).retry(all_of([careful(), do(GetETag())]))
    assert_type(program.run(interpreter), list[str])
    assert_type(program.map(len).run(interpreter), int)
    etag, count = at(N3).retry(all_of(careful(), Count())).run(interpreter)
    assert_type(etag, str)
    assert_type(count, int)
