"""A list holds programs of one type, so that going over it cannot change the rung."""

from functools import reduce

from ixbackoff import N2, N3, N20, Program, Z, at

same: list[Program[N3, N2]] = [at(N3).wait(), at(N2).wait()]  # E: [list-item]
open_one: list[Program[N3, Z]] = [at(N3).end(), at(N3).wait()]  # E: [list-item]
named: dict[str, Program[N3, Z]] = {"a": at(N3).end(), "b": at(N2).end()}  # E: [dict-item]
pair: tuple[Program[N3, N2], Program[N2, Z]] = (at(N3).wait(), at(N3).end())  # E: [assignment]
deep: set[Program[N20, Z]] = {at(N20).end(), at(N20)}  # E: [arg-type]

waits: list[Program[N3, N2]] = [at(N3).wait(), at(N3).skip()]
waits[0] >> waits[1]  # E: [operator]
waits.append(at(N3))  # E: [arg-type]
for wait in waits:
    at(N3).wait() >> wait  # E: [operator]

start: Program[N3, N3] = at(N3)
reduce(lambda before, after: before >> after, waits, start)  # E: [operator]
