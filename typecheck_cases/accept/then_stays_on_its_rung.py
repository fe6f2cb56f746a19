"""`then` performs the command or attempt that a function makes of the value, on the same rung."""

from typing import assert_type

from ixbackoff import N3, Attempt, Command, Do, Log, Program, at, attempt, do


class GetETag(Command[str]):
    __slots__ = ()


class Copy(Command[int]):
    __slots__ = ("etag",)

    def __init__(self, etag: str) -> None:
        self.etag = etag


@attempt
def copy_twice(etag: str) -> Do[Copy | Log, int]:
    yield from Log("copying")
    return (yield from Copy(etag)) + (yield from Copy(etag))


assert_type(at(N3).do(GetETag()).then(Copy), Program[N3, N3, int, GetETag | Copy])
assert_type(at(N3).do(GetETag()).then(copy_twice), Program[N3, N3, int, GetETag | Copy | Log])
assert_type(
    at(N3).do(GetETag()).then(lambda etag: Log(etag.upper())), Program[N3, N3, None, GetETag | Log]
)
assert_type(at(N3).then(lambda nothing: Log(str(nothing))), Program[N3, N3, None, Log])


def logged(number: int) -> Attempt[Log, int]:
    return do(Log("copied")).map(lambda _: number)


assert_type(
    at(N3).do(GetETag()).then(Copy).then(logged), Program[N3, N3, int, GetETag | Copy | Log]
)
