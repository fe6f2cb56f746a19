"""`call` makes a command of a plain function, keeps its types, and checks its arguments."""

from typing import assert_type

from ixbackoff import N3, Attempt, Call, Do, Program, at, attempt, call, do


def size(path: str, *, limit: int = 10) -> int:
    return min(len(path), limit)


assert_type(call(size, "a", limit=3), Call[int])
assert_type(call(size, "a")(), int)
assert_type(do(call(size, "a")), Attempt[Call[int], int])
assert_type(at(N3).do(call(size, "a")), Program[N3, N3, int, Call[int]])


@attempt
def total(paths: list[str]) -> Do[Call[int], int]:
    number = 0
    for path in paths:
        number += yield from call(size, path)
    return number


assert_type(total(["a", "b"]), Attempt[Call[int], int])
