"""At `Z` no wait is left: `backoff`, `wait` and `skip` are refused."""

from ixbackoff import N0, N1, N3, N10, N16, N20, Download, Z, at

fetch = Download("http://localhost/a", "a")

at(Z).backoff()  # E: [misc]
at(Z).wait()  # E: [misc]
at(Z).skip()  # E: [misc]
at(N0).do(fetch).backoff()  # E: [misc]
at(N1).wait().wait()  # E: [misc]
at(N1).skip().skip()  # E: [misc]
at(N3).backoff().backoff().backoff().backoff()  # E: [misc]
at(N3).retry(fetch).wait()  # E: [misc]
at(N3).resume(fetch).backoff()  # E: [misc]
at(N3).give_up().skip()  # E: [misc]
at(N16).retry(fetch).wait()  # E: [misc]
at(N20).retry(fetch).wait()  # E: [misc]
at(N20).give_up().backoff()  # E: [misc]

upper = at(N20).wait().wait().wait().wait().wait().wait().wait().wait().wait().wait()
lower = at(N10).wait().wait().wait().wait().wait().wait().wait().wait().wait().wait()
(upper >> lower).wait()  # E: [misc]
(upper >> lower.wait())  # E: [misc]
