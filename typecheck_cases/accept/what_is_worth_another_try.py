"""`on` is an exception class, a tuple of them, or a function of the exception."""

from ixbackoff import (
    N3,
    ClientError,
    Download,
    Log,
    NotReady,
    ServerError,
    Throttled,
    Transient,
    at,
    do,
)

fetch = Download("http://localhost/a", "a")


class Busy(Transient):
    pass


def gone(failure: Exception) -> bool:
    return isinstance(failure, ClientError) and failure.status == 410


at(N3).retry(fetch, on=Busy)
at(N3).retry(fetch, on=(NotReady, OSError))
at(N3).resume(fetch, on=lambda failure: isinstance(failure, ServerError))
at(N3).do(fetch).backoff(on=Throttled).or_else(fetch, on=gone)
at(N3).do(fetch).or_bind(lambda _: at(N3).do(fetch), on=(Busy,))
do(fetch).or_else(Log("gone"), on=gone)

seconds: float | None = Throttled(2.5).retry_after
status: int = ServerError(503, retry_after=1).status
refused: int = ClientError(404).status
