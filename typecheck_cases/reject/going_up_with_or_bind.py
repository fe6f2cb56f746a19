"""`or_bind` cannot go up, nor jump down, whether with a lambda or a named function."""

from ixbackoff import N1, N2, N3, N16, N20, Delay, Download, Program, Throttled, at

fetch = Download("http://localhost/a", "a")


def from_the_top(_: Exception) -> Program[N3, N2, None, Download | Delay]:
    return at(N3).do(fetch).backoff()


at(N1).or_bind(lambda _: at(N3))  # E: [arg-type]
at(N3).or_bind(lambda _: at(N1))  # E: [arg-type]
at(N3).wait().or_bind(lambda _: at(N3).retry(fetch), on=Throttled)  # E: [arg-type] [return-value]
at(N3).do(fetch).backoff().or_bind(from_the_top)  # E: [arg-type]
at(N3).or_bind(from_the_top).or_bind(from_the_top)  # E: [arg-type]
at(N16).wait().or_bind(lambda _: at(N16))  # E: [arg-type]
at(N20).wait().or_bind(lambda _: at(N20))  # E: [arg-type]
