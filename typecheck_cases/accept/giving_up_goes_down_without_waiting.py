"""`end` goes down to `N0` from any rung: what the program holds then is its outcome."""

from typing import Never, assert_type

from ixbackoff import N0, N3, N20, Command, Delay, Program, at


class GetETag(Command[str]):
    __slots__ = ()


assert_type(at(N3).end(), Program[N3, N0, None, Never])
assert_type(at(N0).end(), Program[N0, N0, None, Never])
assert_type(at(N20).do(GetETag()).wait().end(), Program[N20, N0, str, GetETag | Delay])
