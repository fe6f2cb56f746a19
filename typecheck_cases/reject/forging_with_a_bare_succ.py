"""`Succ` alone says nothing: in an annotation it needs to be told of which rung."""

from ixbackoff import N3, Program, Succ, Z, at


def of_a_bare_end(program: Program[N3, Succ]) -> None: ...  # E: [type-arg]


def of_a_bare_start(rung: type[Succ]) -> None: ...  # E: [type-arg]


bare: Program[Succ, Z] = at(N3).end()  # E: [type-arg]
deeper: Program[Succ[Succ], Z]  # E: [type-arg]
at(Succ())  # E: [call-arg]
at(Succ[int])  # E: [type-var]
at(Succ[3])  # E: [valid-type]
at(Succ[Z, Z])  # E: [misc]
