"""`or_else` performs another command or attempt when the program has failed, on the same rung."""

from typing import assert_type

from ixbackoff import N2, N3, ClientError, Command, Delay, Log, NotReady, Program, Throttled, at, do


class GetETag(Command[str]):
    __slots__ = ()


class Count(Command[int]):
    __slots__ = ()


def hopeless(failure: Exception) -> bool:
    return isinstance(failure, ClientError) and failure.status == 404


tag = at(N3).do(GetETag())
assert_type(tag.or_else(GetETag()), Program[N3, N3, str, GetETag])
assert_type(tag.or_else(Count()), Program[N3, N3, str | int, GetETag | Count])
assert_type(tag.or_else(do(Log("no")).map(lambda _: "none")), Program[N3, N3, str, GetETag | Log])
assert_type(tag.or_else(Count(), on=NotReady), Program[N3, N3, str | int, GetETag | Count])
assert_type(
    tag.or_else(Count(), on=(NotReady, Throttled)), Program[N3, N3, str | int, GetETag | Count]
)
assert_type(tag.or_else(Count(), on=hopeless), Program[N3, N3, str | int, GetETag | Count])
assert_type(tag.backoff().or_else(GetETag()), Program[N3, N2, str, GetETag | Delay])
