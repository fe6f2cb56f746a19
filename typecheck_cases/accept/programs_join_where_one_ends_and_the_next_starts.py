"""`>>` goes on when well, `|` when failed; both join a program that starts where this one ends."""

from typing import Never, assert_type

from ixbackoff import N0, N1, N2, N3, Command, Delay, Log, Program, at


class GetETag(Command[str]):
    __slots__ = ()


class Count(Command[int]):
    __slots__ = ()


first = at(N3).do(GetETag()).backoff()
second = at(N2).do(Count()).wait()
third = at(N1).retry(Log("last"))

assert_type(first >> second, Program[N3, N1, int, GetETag | Delay | Count])
assert_type(first | second, Program[N3, N1, str | int, GetETag | Delay | Count])
assert_type(first >> second >> third, Program[N3, N0, None, GetETag | Delay | Count | Log])
assert_type(first >> (second >> third), Program[N3, N0, None, GetETag | Delay | Count | Log])
assert_type(
    first | second | third, Program[N3, N0, str | int | None, GetETag | Delay | Count | Log]
)
assert_type(
    first | (second | third), Program[N3, N0, str | int | None, GetETag | Delay | Count | Log]
)
assert_type(at(N3) >> at(N3) >> at(N3), Program[N3, N3, None, Never])
assert_type(at(N3).skip() | at(N2).skip() | at(N1), Program[N3, N1, None, Never])
