"""A union is not one rung, so a program on it can neither be joined, nor waited on, nor run."""

from ixbackoff import N1, N2, N3, N16, N20, Interpreter, Program, Standard, Succ, Z, at

fresh: Program[N3 | N1, N3 | N1] = at(N3)  # E: [arg-type]
end: Program[N3, N3 | Z] = at(N3)  # E: [assignment]
start: Program[N3 | N1, Z] = at(N3).end()  # E: [assignment]
below: Program[N3, Succ[N2 | Z]] = at(N3)  # E: [assignment]
deep: Program[N16, N16 | Z] = at(N16)  # E: [assignment]
deepest: Program[N20, N20 | Z] = at(N20)  # E: [assignment]


def run(program: Program[N3, N1 | Z], interpreter: Interpreter[Standard]) -> None:
    program.run(interpreter)  # E: [misc]
    program >> at(N1).wait()  # E: [operator]
    program.wait()  # E: [misc]


Either = Program[N3, N1] | Program[N3, Z]


def run_either(program: Either, interpreter: Interpreter[Standard]) -> None:
    program.run(interpreter)  # E: [call-arg]
    program.wait()  # E: [call-arg]


def ends(program: Program[N3, N3] | Program[N3, Z]) -> Program[N3, Z]:
    return program  # E: [return-value]


def next_rung(program: Program[N3, Succ[N1 | Z]]) -> Program[N3, N1]:
    return program.wait()  # E: [return-value]
