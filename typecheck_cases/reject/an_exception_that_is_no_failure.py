"""`on` chooses among failures: what is no `Exception`, such as Ctrl-C, is never held back."""

from ixbackoff import N3, Download, Log, NotReady, at, do

fetch = Download("http://localhost/a", "a")


def of_nothing() -> bool:
    return True


def of_text(failure: str) -> bool:
    return True


at(N3).retry(fetch, on=KeyboardInterrupt)  # E: [arg-type]
at(N3).retry(fetch, on=BaseException)  # E: [arg-type]
at(N3).retry(fetch, on=(NotReady, SystemExit))  # E: [arg-type]
at(N3).retry(fetch, on=NotReady())  # E: [arg-type]
at(N3).retry(fetch, on="NotReady")  # E: [arg-type]
at(N3).retry(fetch, on=of_nothing)  # E: [arg-type]
at(N3).resume(fetch, on=of_text)  # E: [arg-type]
at(N3).do(fetch).backoff(on=KeyboardInterrupt)  # E: [arg-type]
at(N3).do(fetch).backoff(on=int)  # E: [arg-type]
at(N3).do(fetch).or_else(fetch, on=None)  # E: [arg-type]
at(N3).do(fetch).or_bind(lambda _: at(N3), on=GeneratorExit)  # E: [arg-type]
do(fetch).or_else(Log("no"), on=SystemExit)  # E: [arg-type]
