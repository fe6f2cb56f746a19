"""Branches join when they end on one rung; `skip` and `end` bring the shorter one down."""

from typing import assert_type

from ixbackoff import N0, N1, N2, N3, Delay, Download, Log, Program, at


def choose(patient: bool) -> Program[N3, N1]:
    return at(N3).wait().wait() if patient else at(N3).skip().skip()


def decide(size: int) -> Program[N2, N0, None, Download | Log | Delay]:
    if size == 0:
        return at(N2).do(Log("empty")).end()
    return at(N2).retry(Download("http://localhost/a", "a"))


patient = at(N3).wait() if input() else at(N3).skip()
whole = at(N3).map(lambda _: 3).wait().bind(decide)
assert_type(whole, Program[N3, N0, None, Download | Log | Delay])
