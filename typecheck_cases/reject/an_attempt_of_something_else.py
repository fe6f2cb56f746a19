"""`attempt` takes a generator function, and its attempts take that function's arguments."""

from collections.abc import Iterator

from ixbackoff import Do, Download, Log, attempt, call


def plain(url: str) -> None:
    print(url)


async def later(url: str) -> None:
    print(url)


def iterator(url: str) -> Iterator[Download]:
    yield Download(url, "a")


@attempt
def fetch(url: str, *, loud: bool = False) -> Do[Download | Log, None]:
    yield from Download(url, "a")


def power(base: int, exponent: int) -> int:
    return base


attempt(plain)  # E: [arg-type]
attempt(later)  # E: [arg-type]
attempt(iterator)  # E: [arg-type]
attempt(Download)  # E: [arg-type]
attempt(1)  # E: [arg-type]
fetch()  # E: [call-arg]
fetch(1)  # E: [arg-type]
fetch("a", True)  # E: [call-arg]
fetch("a", quiet=True)  # E: [call-arg]
call(power, 2)  # E: [call-arg]
call(power, 2, "a")  # E: [arg-type]
call(power, 2, exponent=None)  # E: [arg-type]
call(1)  # E: [arg-type]
