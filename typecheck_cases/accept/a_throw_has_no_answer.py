"""`Throw` fails, so it has no answer: what comes after it is never reached."""

from typing import Never, assert_type

from ixbackoff import N3, Attempt, Do, NotReady, Program, Throw, at, attempt, do


@attempt
def named(name: str) -> Do[Throw, str]:
    if name:
        return name
    return (yield from Throw(NotReady("no name")))


assert_type(named("a"), Attempt[Throw, str])
assert_type(do(Throw(NotReady("a"))), Attempt[Throw, Never])
assert_type(at(N3).do(Throw(NotReady("a"))), Program[N3, N3, Never, Throw])
