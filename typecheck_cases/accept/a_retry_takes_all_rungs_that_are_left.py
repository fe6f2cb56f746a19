"""`retry` and `resume` try on every rung that is left, so the program has come down to `N0`."""

from typing import assert_type

from ixbackoff import N0, N1, N3, N20, Command, Delay, Download, Log, Program, Throttled, Z, at, do


class GetETag(Command[str]):
    __slots__ = ()


assert_type(at(N3).retry(GetETag()), Program[N3, Z, str, GetETag | Delay])
assert_type(at(N3).resume(GetETag()), Program[N3, Z, str, GetETag | Delay])
assert_type(at(N20).retry(GetETag(), on=Throttled), Program[N20, N0, str, GetETag | Delay])
assert_type(at(N20).resume(GetETag(), on=Throttled), Program[N20, N0, str, GetETag | Delay])
assert_type(at(N0).retry(GetETag()), Program[N0, N0, str, GetETag | Delay])
assert_type(at(N3).wait().wait().retry(GetETag()), Program[N3, N0, str, GetETag | Delay])
assert_type(
    at(N1).do(Log("a")).retry(do(Download("http://localhost/a", "a")).map(str)),
    Program[N1, N0, str, Log | Download | Delay],
)
