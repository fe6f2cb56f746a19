"""`do` begins a chain at one rung; `then`, `map` and `or_else` make it longer, the row wider."""

from typing import assert_type

from ixbackoff import Attempt, Command, Log, Upload, do


class GetETag(Command[str]):
    __slots__ = ()


class Copy(Command[int]):
    __slots__ = ("etag",)

    def __init__(self, etag: str) -> None:
        self.etag = etag


assert_type(do(GetETag()), Attempt[GetETag, str])
assert_type(do(do(GetETag())), Attempt[GetETag, str])
assert_type(do(GetETag()).map(len), Attempt[GetETag, int])
assert_type(do(GetETag()).then(Copy), Attempt[GetETag | Copy, int])
assert_type(do(GetETag()).then(lambda etag: do(Copy(etag))), Attempt[GetETag | Copy, int])
assert_type(do(GetETag()).or_else(Log("no")), Attempt[GetETag | Log, str | None])
assert_type(do(Log("a")).then(lambda _: Log("b")).then(lambda _: Log("c")), Attempt[Log, None])
assert_type(
    do(GetETag()).or_else(Copy("none"), on=KeyError).map(str).then(lambda text: Upload(text, text)),
    Attempt[GetETag | Copy | Upload, None],
)
