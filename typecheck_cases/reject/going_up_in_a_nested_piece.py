"""A wrong order is found however deep it is nested in brackets or in functions."""

from ixbackoff import N1, N2, N3, N4, Download, at

fetch = Download("http://localhost/a", "a")

at(N3).wait() >> (at(N2).wait() >> at(N2).wait())  # E: [operator]
at(N3).wait() | (at(N2).wait() >> (at(N1) | at(N2)))  # E: [arg-type]
(at(N3) >> at(N3).wait()) >> (at(N3) >> at(N3).wait())  # E: [operator]
at(N3).bind(lambda _: at(N3).wait().bind(lambda _: at(N3).wait()))  # E: [arg-type] [return-value]
at(N3).bind(lambda _: at(N3).bind(lambda _: at(N3).wait().bind(lambda _: at(N3))))  # E: [arg-type]
at(N3).wait().or_bind(lambda _: at(N2).wait().bind(lambda _: at(N2)))  # E: [arg-type]
at(N3).bind(lambda _: at(N3).retry(fetch) >> at(N1))  # E: [arg-type]
at(N3).or_bind(lambda _: at(N3) | at(N4))  # E: [arg-type]
