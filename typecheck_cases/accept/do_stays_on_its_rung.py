"""`do` performs a command or an attempt on the rung where the program stands."""

from typing import assert_type

from ixbackoff import N2, N3, N20, Command, Delay, Download, Log, Program, at, do


class GetETag(Command[str]):
    __slots__ = ()


assert_type(at(N3).do(GetETag()), Program[N3, N3, str, GetETag])
assert_type(at(N3).do(GetETag()).do(Log("a")), Program[N3, N3, None, GetETag | Log])
assert_type(at(N3).do(do(GetETag()).map(len)), Program[N3, N3, int, GetETag])
assert_type(at(N20).do(GetETag()), Program[N20, N20, str, GetETag])
assert_type(
    at(N3).do(GetETag()).wait().do(Download("http://localhost/a", "a")),
    Program[N3, N2, None, GetETag | Delay | Download],
)
