"""Branches that end on different rungs do not join: bring the shorter one down with `skip`."""

from ixbackoff import N1, N2, N3, Download, Program, at

fetch = Download("http://localhost/a", "a")
patient = bool(input())


def expression() -> Program[N3, N1]:
    return at(N3).wait().wait() if patient else at(N3).wait()  # E: [return-value]


def statement() -> Program[N3, N1]:
    if patient:
        return at(N3).wait().wait()
    return at(N3).do(fetch).backoff()  # E: [return-value]


def either_start(program: Program[N3, N2] | Program[N2, N2]) -> Program[N3, N1]:
    return program.wait()  # E: [return-value]


def decide(size: int) -> Program[N2, N1]:
    return at(N2).wait() if size else at(N2).end()  # E: [return-value]


upper = at(N3).wait() if patient else at(N3)
upper >> at(N2).wait()  # E: [operator]
at(N2) >> (at(N2).wait() if patient else at(N3).wait())  # E: [operator]
