"""A rung that is chosen at run time is not known to be one of the two."""

from ixbackoff import N1, N3, N15, N16, N19, N20, Program, at

high = bool(input())

at(N3 if high else N1) >> at(N3)  # E: [operator]
at(N3 if high else N1) | at(N1)  # E: [operator]
at(N16 if high else N15) >> at(N16)  # E: [operator]
at(N20 if high else N19) >> at(N20)  # E: [operator]


def of_a_choice(rung: type[N3] | type[N1]) -> Program[N1, N1]:
    return at(rung)  # E: [arg-type]


def of_a_deep_choice(deep: type[N20] | type[N19]) -> Program[N19, N19]:
    return at(deep)  # E: [arg-type]


def of_two_programs(first: Program[N3, N3], second: Program[N1, N1]) -> Program[N3, N3]:
    return first if high else second  # E: [return-value]
