"""A rung that is chosen at run time is not known to be one of the two."""

from ixbackoff import N1, N3, N15, N16, N19, N20, Program, Rung, at

high = bool(input())

at(N3 if high else N1) >> at(N3)  # E: [arg-type] [operator]
at(N3 if high else N1) | at(N1)  # E: [arg-type] [operator]
at(N16 if high else N15) >> at(N16)  # E: [arg-type] [operator]
at(N20 if high else N19) >> at(N20)  # E: [arg-type] [operator]
at(N3) | at(N3 if high else N1)  # E: [arg-type] [arg-type]
at(N3).bind(lambda _: at(N3 if high else N1))  # E: [arg-type]
at({"N3": N3, "N1": N1}[input()]) >> at(N3)  # E: [arg-type] [operator]

upper: Program[N3, N3] = at(N3 if high else N1)  # E: [arg-type]
deep: Program[N16, N16] = at(N16 if high else N15)  # E: [arg-type]
deepest: Program[N20, N20] = at(N20 if high else N19)  # E: [arg-type]
looked_up: Program[N3, N3] = at({"N3": N3, "N1": N1}[input()])  # E: [arg-type]
either: Rung[N3] = N3 if high else N1  # E: [assignment]


def of_a_choice(rung: type[N3] | type[N1]) -> Program[N1, N1]:
    return at(rung)  # E: [arg-type]


def of_a_deep_choice(deep: type[N20] | type[N19]) -> Program[N19, N19]:
    return at(deep)  # E: [arg-type]


def of_two_programs(first: Program[N3, N3], second: Program[N1, N1]) -> Program[N3, N3]:
    return first if high else second  # E: [return-value]
