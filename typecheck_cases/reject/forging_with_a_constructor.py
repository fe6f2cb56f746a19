"""Rungs have no instances, and programs, attempts, interpreters and waits no public constructor."""

from ixbackoff import (
    N0,
    N3,
    N16,
    N20,
    AsyncInterpreter,
    Attempt,
    Delay,
    Download,
    Interpreter,
    Program,
    Succ,
    Z,
    at,
)

Z()  # E: [call-arg]
Z(0)  # E: [arg-type]
Succ()  # E: [call-arg]
Succ(Z)  # E: [arg-type]
N3()  # E: [call-arg]
N20(None)  # E: [arg-type]
at(N3())  # E: [call-arg]
Program()  # E: [call-arg]
Program(N3)  # E: [arg-type]
Program[N3, N0]()  # E: [call-arg]
Program[N3, N0, None, Download](None)  # E: [arg-type]
program: Program[N3, N0] = Program(at(N3))  # E: [arg-type]
deep: Program[N16, N0] = Program(at(N16))  # E: [arg-type]
deepest: Program[N20, N0] = Program(at(N20))  # E: [arg-type]
Attempt()  # E: [call-arg]
Attempt(Download("a", "a"))  # E: [arg-type]
Interpreter()  # E: [call-arg]
Interpreter({})  # E: [arg-type]
AsyncInterpreter({})  # E: [arg-type]
Delay()  # E: [call-arg]
Delay(5)  # E: [arg-type]
Delay(5.0, 1, None)  # E: [arg-type] [call-arg]
Delay(seconds=5)  # E: [call-arg]
type(at(N3))()  # E: [call-arg]
