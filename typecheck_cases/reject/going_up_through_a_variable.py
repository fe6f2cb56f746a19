"""A variable keeps the rungs of the program in it, with an annotation or without."""

from ixbackoff import N0, N1, N2, N3, N16, N17, N19, N20, Delay, Download, Program, at

fetch = Download("http://localhost/a", "a")

first = at(N3).do(fetch).backoff()
second = at(N2).do(fetch).backoff()
third = at(N1).retry(fetch)
first >> third  # E: [operator]
second >> first  # E: [operator]
(first >> second >> third) >> third  # E: [operator]
first | first  # E: [operator]

wrong_end: Program[N3, N3, None, Download | Delay] = first  # E: [assignment]
wrong_start: Program[N2, N2, None, Download | Delay] = first  # E: [assignment]
runnable: Program[N3, N0, None, Download | Delay] = first  # E: [assignment]
higher: Program[N17, N17] = at(N16)  # E: [arg-type]
lower: Program[N19, N19] = at(N20)  # E: [arg-type]
deep: Program[N20, N20] = at(N20).wait()  # E: [assignment]
