"""`>>` cannot go up, nor jump down: the next program has to start where this one ends."""

from ixbackoff import N0, N1, N2, N3, N4, N15, N16, N19, N20, Download, at

fetch = Download("http://localhost/a", "a")

at(N1) >> at(N3)  # E: [arg-type]
at(N3) >> at(N1)  # E: [arg-type]
at(N3).do(fetch).backoff() >> at(N3).do(fetch)  # E: [operator]
at(N3).wait() >> at(N2).wait() >> at(N2).wait()  # E: [operator]
at(N3).retry(fetch) >> at(N3).retry(fetch)  # E: [operator]
at(N3).end() >> at(N1)  # E: [arg-type]
at(N3) >> at(N4).skip()  # E: [operator]
at(N16).wait() >> at(N16).wait()  # E: [operator]
at(N15) >> at(N16)  # E: [arg-type]
at(N20).wait() >> at(N20).wait()  # E: [operator]
at(N19) >> at(N20)  # E: [arg-type]
at(N0) >> at(N20)  # E: [arg-type]
