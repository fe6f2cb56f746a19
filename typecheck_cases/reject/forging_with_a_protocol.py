"""A rung is known by its name, not by its shape: a protocol is not a rung, nor is a program."""

from typing import Protocol, TypeVar

from ixbackoff import N0, N1, N3, N16, N20, Interpreter, Log, Nat, Program, at

N = TypeVar("N", bound=Nat)


class Rung(Protocol):
    pass


class NamedRung(Nat, Protocol):  # E: [call-arg] [misc]
    pass


class Waits(Protocol[N]):
    def wait(self) -> Program[N3, N]: ...


class Runs(Protocol):
    def run(self, interpreter: Interpreter[Log], /) -> None: ...


class Starts(Protocol):
    def __call__(self, rung: type[N3], /) -> Program[N1, N1]: ...


at(Rung)  # E: [arg-type]
rung: type[Nat] = Rung  # E: [assignment]
waits: Waits[N1] = at(N3)  # E: [assignment]
waits_deep: Waits[N1] = at(N16)  # E: [arg-type] [assignment]
waits_deepest: Waits[N1] = at(N20)  # E: [arg-type] [assignment]
at_the_end: Waits[N0] = at(N3).end()  # E: [assignment]
runs: Runs = at(N3)  # E: [assignment]
starts: Starts = at  # E: [assignment]
