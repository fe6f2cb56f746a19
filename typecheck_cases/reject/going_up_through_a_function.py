"""A function's annotations carry the rungs: neither its body nor its callers can go up."""

from typing import TypeVar

from ixbackoff import N0, N1, N2, N3, Delay, Download, Nat, Program, Succ, at

N = TypeVar("N", bound=Nat)

fetch = Download("http://localhost/a", "a")


def first() -> Program[N3, N2, None, Download | Delay]:
    return at(N3).do(fetch).backoff()


def second(before: Program[N3, N2, None, Download | Delay]) -> Program[N3, N1]:
    return before.wait()


def wait_twice(before: Program[N3, Succ[Succ[N]], None, Delay]) -> Program[N3, N, None, Delay]:
    return before.wait().wait()


def too_high() -> Program[N3, N3, None, Download | Delay]:
    return at(N3).do(fetch).backoff()  # E: [return-value]


def too_low() -> Program[N3, N0, None, Download | Delay]:
    return at(N3).do(fetch).backoff()  # E: [return-value]


def other_start() -> Program[N2, N1, None, Download | Delay]:
    return at(N3).do(fetch).backoff().wait()  # E: [return-value]


first() >> first()  # E: [operator]
second(at(N3))  # E: [arg-type]
second(at(N2))  # E: [arg-type]
second(first().wait())  # E: [arg-type]
wait_twice(wait_twice(at(N3).wait()))  # E: [arg-type]
wait_twice(at(N2).wait())  # E: [arg-type]
