"""`.stream` keeps the type of a generator function, plain or async."""

from collections.abc import AsyncIterator, Generator, Iterator
from typing import assert_type

from ixbackoff import N3, backoff

patiently = backoff(N3)


@patiently.stream
def words(text: str) -> Iterator[str]:
    yield from text.split()


@patiently.stream
def echo(number: int) -> Generator[int, str, bool]:
    sent = yield number
    return bool(sent)


@backoff(N3).stream
async def later(text: str, *, times: int = 1) -> AsyncIterator[str]:
    yield text * times


class Model:
    @patiently.stream
    def talk(self, prompt: str) -> Iterator[str]:
        yield prompt


async def read() -> None:
    assert_type(words("a b"), Iterator[str])
    assert_type(echo(1), Generator[int, str, bool])
    assert_type(later("a", times=2), AsyncIterator[str])
    assert_type(Model().talk("a"), Iterator[str])
    assert_type([word async for word in later("a")], list[str])
