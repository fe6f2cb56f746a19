"""`backoff`, `wait` and `skip` each take one rung; only the first two can wait, as the row says."""

from typing import assert_type

from ixbackoff import N0, N1, N2, N3, Command, Delay, NotReady, Program, at


class GetETag(Command[str]):
    __slots__ = ()


tag = at(N3).do(GetETag())
assert_type(tag.backoff(), Program[N3, N2, str, GetETag | Delay])
assert_type(tag.backoff(on=NotReady), Program[N3, N2, str, GetETag | Delay])
assert_type(tag.wait(), Program[N3, N2, str, GetETag | Delay])
assert_type(tag.skip(), Program[N3, N2, str, GetETag])
assert_type(tag.backoff().wait(), Program[N3, N1, str, GetETag | Delay])
assert_type(tag.backoff().wait().skip(), Program[N3, N0, str, GetETag | Delay])
