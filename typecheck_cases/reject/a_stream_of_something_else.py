"""`.stream` is for generator functions, and keeps their parameters."""

from collections.abc import Iterator

from ixbackoff import N3, backoff

patiently = backoff(N3)


@patiently.stream
def words(text: str) -> Iterator[str]:
    yield text


def count(text: str) -> int:
    return len(text)


words(3)  # E: [arg-type]
patiently.stream(count)  # E: [type-var]
