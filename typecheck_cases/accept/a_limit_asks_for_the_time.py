"""`limit` adds `Now` to the row: whoever answers it has the clock."""

from typing import assert_type

from ixbackoff import N3, Attempt, Command, Delay, Do, Interpreter, Now, Program, Z, at, attempt, do


class GetETag(Command[str]):
    __slots__ = ()


@attempt
def fetch() -> Do[GetETag, int]:
    etag = yield from do(GetETag())
    return len(etag)


assert_type(do(GetETag()).limit(5), Attempt[GetETag | Now, str])
assert_type(fetch().limit(0.5), Attempt[GetETag | Now, int])
assert_type(fetch().limit(5).limit(3), Attempt[GetETag | Now, int])
assert_type(do(GetETag()).limit(5).then(lambda _: fetch()), Attempt[GetETag | Now, int])
assert_type(at(N3).do(fetch().limit(5)), Program[N3, N3, int, GetETag | Now])

limited = at(N3).retry(fetch().limit(5))


def run(interpreter: Interpreter[GetETag | Delay | Now]) -> int:
    declared: Program[N3, Z, int, GetETag | Now | Delay] = limited
    return declared.run(interpreter) + limited.run(interpreter)
