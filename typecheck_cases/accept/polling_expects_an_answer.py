"""`expect` looks at the answer, and leaves its type and the row as they are."""

from typing import assert_type

from ixbackoff import N3, Attempt, Command, Delay, Program, Z, at, do


class GetStatus(Command[str]):
    __slots__ = ()


def is_done(status: str) -> bool:
    return status == "done"


assert_type(do(GetStatus()).expect(is_done), Attempt[GetStatus, str])
assert_type(do(GetStatus()).expect(lambda status: status == "done"), Attempt[GetStatus, str])
assert_type(do(GetStatus()).map(len).expect(lambda length: length > 3), Attempt[GetStatus, int])
assert_type(at(N3).retry(do(GetStatus()).expect(is_done)), Program[N3, Z, str, GetStatus | Delay])
