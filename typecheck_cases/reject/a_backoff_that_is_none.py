"""`backoff` takes a rung, and by name what else there is to say; it is put on functions."""

from ixbackoff import N3, N5, Backoff, Succ, backoff


def page(url: str) -> bytes:
    return url.encode()


backoff(3)  # E: [arg-type]
backoff()  # E: [call-arg]
backoff(page)  # E: [arg-type] [type-var]
backoff(int)  # E: [type-var]
backoff("N3")  # E: [arg-type]
backoff(None)  # E: [arg-type]
backoff(N3, ConnectionError)  # E: [call-arg]
backoff(N3, on=KeyboardInterrupt)  # E: [arg-type]
backoff(N3, on=3)  # E: [arg-type]
backoff(N3, on=page)  # E: [arg-type]
backoff(N3, schedule=lambda k: 2.0**k)  # E: [arg-type]
backoff(N3, schedule=2)  # E: [arg-type]
backoff(N3, within="5")  # E: [arg-type]
backoff(N3, budget=10)  # E: [arg-type]
backoff(N3)(3)  # E: [arg-type]
backoff(N3)(None)  # E: [arg-type]
higher: Backoff[N5] = backoff(N3)  # E: [arg-type]
Backoff(N3)  # E: [arg-type]


@backoff  # E: [arg-type] [type-var]
def without_a_rung(url: str) -> bytes:
    return url.encode()
