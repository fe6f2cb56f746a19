"""`on` is an exception class, a predicate, which may return seconds, or a list or tuple of either."""

from datetime import timedelta

from ixbackoff import N3, Log, NotReady, ServerError, at, backoff, do, first_of

log = Log("hello")


def says_again(failure: Exception) -> bool:
    return "again" in str(failure)


def seconds(failure: Exception) -> float:
    return 7.5


def minutes_or_not(failure: Exception) -> timedelta | bool:
    return timedelta(minutes=1) if says_again(failure) else False


at(N3).retry(log, on=NotReady)
at(N3).retry(log, on=(NotReady, ServerError))
at(N3).retry(log, on=[NotReady, ServerError])
at(N3).retry(log, on=says_again)
at(N3).retry(log, on=seconds)
at(N3).retry(log, on=[NotReady, minutes_or_not, lambda failure: 2])
slowly = backoff(N3, on=seconds)
at(N3).retry(log, on=[NotReady, says_again])
at(N3).retry(log, on=(says_again, ServerError))
at(N3).retry(log, on=[NotReady, lambda failure: "again" in str(failure)])
at(N3).do(log).backoff(on=[NotReady, says_again]).or_else(log, on=[NotReady])
at(N3).do(log).or_bind(lambda _: at(N3).end(), on=[says_again])
do(log).or_else(log, on=[NotReady, ServerError])
first_of([log, log], on=[NotReady, says_again])
patiently = backoff(N3, on=[NotReady, says_again])
