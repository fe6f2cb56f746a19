"""A function may be written for every rung, or for every rung that has two waits left."""

from typing import TypeVar, assert_type

from ixbackoff import N0, N1, N3, N16, N18, N20, Delay, Download, Nat, Program, Rung, Succ, Z, at

I = TypeVar("I", bound=Nat)
O = TypeVar("O", bound=Nat)
N = TypeVar("N", bound=Nat)
A = TypeVar("A")
E = TypeVar("E")


def fetch(rung: Rung[I], url: str) -> Program[I, Z, None, Download | Delay]:
    return at(rung).retry(Download(url, "a"))


def wait_twice(program: Program[I, Succ[Succ[N]], A, E]) -> Program[I, N, A, E | Delay]:
    return program.wait().wait()


def closed(program: Program[I, O, A, E]) -> Program[I, Z, A, E]:
    return program.end()


assert_type(fetch(N3, "http://localhost/a"), Program[N3, N0, None, Download | Delay])
assert_type(fetch(N20, "http://localhost/a"), Program[N20, N0, None, Download | Delay])
assert_type(wait_twice(at(N3)), Program[N3, N1, None, Delay])
assert_type(wait_twice(at(N20)), Program[N20, N18, None, Delay])
assert_type(wait_twice(wait_twice(at(N20))), Program[N20, N16, None, Delay])
assert_type(closed(at(N3).wait()), Program[N3, N0, None, Delay])
