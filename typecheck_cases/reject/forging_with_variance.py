"""Rungs do not vary: a program on one rung is not one on a wider, a narrower or any rung."""

from collections.abc import Sequence

from ixbackoff import N1, N3, N16, N17, N19, N20, Nat, Program, Rung, Succ, Z, at

start: Program[Nat, Z] = at(N3).end()  # E: [assignment]
end: Program[N3, Nat] = at(N3)  # E: [assignment]
both: Program[Nat, Nat] = at(N3)  # E: [arg-type]
below: Program[Succ[Nat], Succ[Nat]] = at(N3)  # E: [arg-type]
deep: Program[Nat, Nat] = at(N16)  # E: [arg-type]
deepest: Program[Nat, Nat] = at(N20)  # E: [arg-type]
any_rung_value: Rung[Nat] = N3  # E: [assignment]
sequence: Sequence[Program[Nat, Z]] = [at(N3).end()]  # E: [list-item]
upper: type[N3] = N1  # E: [assignment]
lower: type[N16] = N17  # E: [assignment]
lowest: type[N19] = N20  # E: [assignment]
any_rung: type[Succ[Nat]] = N3  # E: [assignment]


def of_any_start(program: Program[Nat, Z]) -> None: ...


def of_any_end(program: Program[N3, Nat]) -> None: ...


of_any_start(at(N3).end())  # E: [arg-type]
of_any_end(at(N3))  # E: [arg-type]
at(Nat) >> at(N3).wait()  # E: [arg-type] [operator]
at(Nat).wait()  # E: [arg-type]
at(N3).bind(lambda _: at(Nat))  # E: [arg-type]
