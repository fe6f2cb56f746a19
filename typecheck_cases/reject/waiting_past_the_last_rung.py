"""At `Z` no wait is left: `backoff`, `wait` and `skip` are refused."""

from ixbackoff import N0, N1, N3, N10, N16, N20, Download, Z, at

fetch = Download("http://localhost/a", "a")

at(Z).backoff()  # E: [call-arg]
at(Z).wait()  # E: [call-arg]
at(Z).skip()  # E: [call-arg]
at(N0).do(fetch).backoff()  # E: [call-arg]
at(N1).wait().wait()  # E: [call-arg]
at(N1).skip().skip()  # E: [call-arg]
at(N3).backoff().backoff().backoff().backoff()  # E: [call-arg]
at(N3).retry(fetch).wait()  # E: [call-arg]
at(N3).resume(fetch).backoff()  # E: [call-arg]
at(N3).end().skip()  # E: [call-arg]
at(N16).retry(fetch).wait()  # E: [call-arg]
at(N20).retry(fetch).wait()  # E: [call-arg]
at(N20).end().backoff()  # E: [call-arg]

upper = at(N20).wait().wait().wait().wait().wait().wait().wait().wait().wait().wait()
lower = at(N10).wait().wait().wait().wait().wait().wait().wait().wait().wait().wait()
(upper >> lower).wait()  # E: [call-arg]
(upper >> lower.wait())  # E: [call-arg]
