"""`map` changes the value, and neither the rung nor the row."""

from typing import Never, assert_type

from ixbackoff import N2, N3, Command, Delay, Program, at


class GetETag(Command[str]):
    __slots__ = ()


assert_type(at(N3).do(GetETag()).map(len), Program[N3, N3, int, GetETag])
assert_type(at(N3).do(GetETag()).map(lambda etag: len(etag) > 9), Program[N3, N3, bool, GetETag])
assert_type(at(N3).map(str), Program[N3, N3, str, Never])
assert_type(at(N3).do(GetETag()).backoff().map(len), Program[N3, N2, int, GetETag | Delay])
