"""A program cannot be iterated, so do-notation cannot issue one, and an attempt has no waits."""

from collections.abc import Generator
from typing import Any

from ixbackoff import N2, Delay, Do, Download, CommandOrAttempt, at, attempt, do

fetch = Download("http://localhost/a", "a")
inner = at(N2).retry(fetch)


@attempt
def delegating() -> Do[Download | Delay, None]:
    yield from inner  # E: [misc]


@attempt
def yielding() -> Do[Download | Delay, None]:
    yield inner  # E: [misc]


@attempt
def looping() -> Do[Download | Delay, None]:
    for command in inner:  # E: [attr-defined]
        yield command


class Wrapped:
    def __iter__(self) -> Generator[Download | Delay, Any, None]:
        return iter(inner)  # E: [call-overload] [no-any-return]


do(fetch).retry(fetch)  # E: [attr-defined]
do(fetch).backoff()  # E: [attr-defined]
do(fetch).wait()  # E: [attr-defined]
attempt(lambda: inner)  # E: [arg-type] [return-value]
CommandOrAttempt(inner)  # E: [call-arg] [misc]
