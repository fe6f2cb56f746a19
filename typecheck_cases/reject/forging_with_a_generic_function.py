"""A generic function cannot change a rung: its variables stand for one rung each."""

from collections.abc import Callable
from typing import Generic, Never, TypeVar

from ixbackoff import N0, N1, N3, N16, N17, N20, Nat, Program, Rung, Succ, Z, at

I = TypeVar("I", bound=Nat)
O = TypeVar("O", bound=Nat)
J = TypeVar("J", bound=Nat)
N = TypeVar("N", bound=Nat)
S = TypeVar("S", Z, N1)
T = TypeVar("T")
Any_of_them = TypeVar("Any_of_them", N1, N3)


def up(rung: Rung[N]) -> Program[N, Succ[N], None, Never]:
    return at(rung)  # E: [return-value]


def down(rung: Rung[Succ[N]]) -> Program[N, N, None, Never]:
    return at(rung)  # E: [arg-type]


def down_to_the_end(rung: Rung[N]) -> Program[N, Z, None, Never]:
    return at(rung)  # E: [return-value]


def other_end(program: Program[I, O, None, Never]) -> Program[I, J, None, Never]:
    return program  # E: [return-value]


def other_start(program: Program[I, O, None, Never]) -> Program[J, O, None, Never]:
    return program  # E: [return-value]


def swapped(program: Program[I, O, None, Never]) -> Program[O, I, None, Never]:
    return program  # E: [return-value]


def raised(program: Program[I, O, None, Never]) -> Program[I, Succ[O], None, Never]:
    return program  # E: [return-value]


def lowered(program: Program[I, Succ[O], None, Never]) -> Program[I, O, None, Never]:
    return program  # E: [return-value]


def waiting(program: Program[I, O, None, Never]) -> Program[I, N, None, Never]:
    return program.skip()  # E: [misc]


def waiting_twice(program: Program[I, Succ[N], None, Never]) -> Program[I, N, None, Never]:
    return program.skip().skip()  # E: [misc]


def joined(first: Program[I, O], second: Program[J, N]) -> Program[I, N]:
    return first >> second  # E: [operator]


def bound(first: Program[I, O], second: Program[J, N]) -> Program[I, N]:
    return first.bind(lambda _: second)  # E: [arg-type] [return-value]


def open_run(program: Program[I, O]) -> Program[I, Z]:
    return program  # E: [return-value]


def one_of_two(either: Rung[Any_of_them]) -> Program[N3, N3, None, Never]:
    return at(either)  # E: [arg-type]


def unbounded(rung: Rung[T]) -> None: ...  # E: [type-var]


class Held(Generic[N]):
    def __init__(self, rung: Rung[N]) -> None:
        self.start = at(rung)

    def lower(self) -> Program[N, Z, None, Never]:
        return self.start  # E: [return-value]


def same(program: Program[N, N, None, Never]) -> Program[N, N, None, Never]:
    return program


same(at(N3).skip())  # E: [misc]
same(at(N16).skip())  # E: [misc]
same(at(N20).skip())  # E: [misc]
rename: Callable[[type[N3]], Program[N1, N1, None, Never]] = at  # E: [assignment]
rename_deep: Callable[[type[N16]], Program[N17, N17, None, Never]] = at  # E: [assignment]
rename_deepest: Callable[[type[N20]], Program[N20, N0, None, Never]] = at  # E: [assignment]
