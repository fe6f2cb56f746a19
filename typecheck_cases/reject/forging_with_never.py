"""`Never` is no way round: it is not a rung that any program stands on."""

from typing import Never, NoReturn

from ixbackoff import N3, N16, N20, Program, Succ, Z, at

end: Program[N3, Never] = at(N3)  # E: [assignment]
start: Program[Never, Z] = at(N3).end()  # E: [assignment]
both: Program[Never, Never] = at(N3)  # E: [arg-type]
below: Program[N3, Succ[Never]] = at(N3)  # E: [assignment]
older: Program[N3, NoReturn] = at(N3)  # E: [assignment]
deep: Program[N16, Never] = at(N16)  # E: [assignment]
deepest: Program[N20, Never] = at(N20)  # E: [assignment]
rung: type[Never] = N3  # E: [assignment]


def no_end() -> Program[N3, Never]:
    return at(N3)  # E: [return-value]


def of_no_end(program: Program[N3, Never]) -> Program[N3, Z]:
    return program  # E: [return-value]


def of_no_start(program: Program[Never, Never]) -> Program[N3, N3]:
    return program  # E: [return-value]


def lowered(program: Program[N3, Succ[Never]]) -> Program[N3, Z]:
    return program.wait()  # E: [return-value]


def ran(program: Program[N3, Never]) -> Program[N3, Z]:
    return at(N3) >> program  # E: [operator]
