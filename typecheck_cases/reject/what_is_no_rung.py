"""A ladder starts on a rung: a type that is none, or a value, is refused."""

from typing import NewType, Protocol

from ixbackoff import N3, Delay, Nat, Program, Succ, Z, at, reflect


class Pretender(Protocol):
    pass


class Duck:
    __slots__ = ()


Other = NewType("Other", Nat)
at(Nat)  # E: [arg-type]
at(Other)  # E: [arg-type]
at(int)  # E: [arg-type]
at(object)  # E: [arg-type]
at(bool)  # E: [arg-type]
at(type)  # E: [arg-type]
at(3)  # E: [arg-type]
at("N3")  # E: [arg-type]
at(None)  # E: [arg-type]
at(Duck)  # E: [arg-type]
at(Pretender)  # E: [arg-type]
at(Program)  # E: [arg-type]
at(Delay)  # E: [arg-type]
at(N3 | int)  # E: [arg-type]
at(list[N3])  # E: [arg-type]
at()  # E: [call-arg]
reflect(int)  # E: [arg-type]
reflect(3)  # E: [arg-type]

wrong: Program[int, int]  # E: [type-var]
wrong_below: Program[Succ[int], Z]  # E: [type-var]
number: Program[3, Z]  # E: [valid-type]
missing: Program[Succ, Z]  # E: [type-arg]
too_many: Program[N3, Z, None, Delay, None]  # E: [type-arg]
too_few: Program[N3]  # E: [type-arg] [type-arg]
