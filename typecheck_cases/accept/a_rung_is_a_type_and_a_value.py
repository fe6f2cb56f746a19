"""`N3` is a type in an annotation and a value in a call: both say that three waits are left."""

from typing import Never, assert_type

from ixbackoff import N0, N1, N3, N16, N20, Nat, Program, Rung, Succ, Z, at, reflect

assert_type(at(N3), Program[Succ[Succ[Succ[Z]]], Succ[Succ[Succ[Z]]], None, Never])
assert_type(at(N0), Program[Z, Z, None, Never])
assert_type(at(Succ[N0]), Program[N1, N1, None, Never])
assert_type(at(N16), Program[N16, N16, None, Never])
assert_type(at(N20), Program[N20, N20, None, Never])
assert_type(reflect(N3), int)

three: Rung[N3] = N3
assert_type(at(three), Program[N3, N3, None, Never])
kinds: list[type[Nat]] = [Z, N1, N3]
