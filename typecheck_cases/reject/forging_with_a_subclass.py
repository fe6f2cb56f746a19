"""Rungs, programs, attempts, interpreters and waits are final: nothing can pretend to be one."""

from typing import Any, Generic, TypeVar

from ixbackoff import (
    N0,
    N3,
    AsyncInterpreter,
    Attempt,
    Delay,
    Download,
    Interpreter,
    Nat,
    Program,
    Succ,
    Z,
)

N = TypeVar("N", bound=Nat)


class Zero(Z):  # E: [call-arg] [misc]
    pass


class One(Succ[Z]):  # E: [call-arg] [misc]
    pass


class Next(Succ[N]):  # E: [call-arg] [misc]
    pass


class Omega(Nat):  # E: [call-arg]
    pass


class Sealed(Nat, only_Z_Succ_and_Forever_are_rungs=object):  # E: [arg-type]
    pass


class Endless(Nat, Generic[N]):  # E: [call-arg]
    pass


class Runnable(Program[N3, N0]):  # E: [misc]
    pass


class Longer(Program[N3, N, Any, Any]):  # E: [misc]
    pass


class Patient(Attempt[Download, None]):  # E: [misc]
    pass


class Deaf(Interpreter[Any]):  # E: [misc]
    pass


class DeafToo(AsyncInterpreter[Any]):  # E: [misc]
    pass


class Nap(Delay):  # E: [misc]
    pass
