"""`.at` takes the rung where the program stands by its type, and no other."""

from ixbackoff import FOREVER, N0, N1, N2, N3, Log, at

log = Log("hello")

at(N3).at(N2)  # E: [arg-type]
at(N2).at(N3)  # E: [arg-type]
at(N3).retry(log).at(N3)  # E: [arg-type]
at(N2).do(log).bind(lambda _: at(N2).retry(log)).at(N1)  # E: [arg-type]
at(FOREVER).at(N0)  # E: [arg-type]
at(N0).at(FOREVER)  # E: [arg-type]
