"""`bind` goes on with a program that starts where this one ends; it may end on a lower rung."""

from typing import assert_type

from ixbackoff import N0, N1, N2, N3, Command, Delay, Log, Program, at


class GetETag(Command[str]):
    __slots__ = ()


class Copy(Command[int]):
    __slots__ = ("etag",)

    def __init__(self, etag: str) -> None:
        self.etag = etag


def copy_later(etag: str) -> Program[N2, N1, int, Copy | Delay]:
    return at(N2).wait().do(Copy(etag))


tag = at(N3).do(GetETag()).backoff()
assert_type(tag, Program[N3, N2, str, GetETag | Delay])
assert_type(tag.bind(copy_later), Program[N3, N1, int, GetETag | Delay | Copy])
assert_type(
    tag.bind(lambda etag: at(N2).do(Copy(etag))), Program[N3, N2, int, GetETag | Delay | Copy]
)
assert_type(
    tag.bind(lambda etag: at(N2).retry(Copy(etag))), Program[N3, N0, int, GetETag | Delay | Copy]
)
assert_type(
    tag.bind(
        lambda etag: copy_later(etag).bind(lambda number: at(N1).do(Log(etag * number)).skip())
    ),
    Program[N3, N0, None, GetETag | Delay | Copy | Log],
)
