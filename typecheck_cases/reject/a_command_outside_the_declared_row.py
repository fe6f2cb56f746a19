"""A row is a promise: neither an attempt nor a program may issue a command outside of it."""

from ixbackoff import (
    N3,
    Attempt,
    Command,
    Delay,
    Do,
    Download,
    Log,
    Program,
    Upload,
    Z,
    at,
    attempt,
    do,
)


class GetETag(Command[str]):
    __slots__ = ()


fetch = Download("http://localhost/a", "a")
store = Upload("a", "memory:///a")


@attempt
def keep() -> Do[Download, None]:
    yield from fetch
    yield from store  # E: [misc]


@attempt
def keep_more() -> Do[Download | Log, None]:
    yield from keep()
    yield from both()  # E: [misc]


@attempt
def both() -> Do[Download | Upload, None]:
    yield from fetch
    yield from store


def program() -> Program[N3, Z, None, Download | Delay]:
    return at(N3).retry(store)  # E: [arg-type]


chained: Attempt[Download, None] = do(fetch).then(lambda _: store)  # E: [arg-type] [return-value]
own: Program[N3, Z, str] = at(N3).retry(GetETag())  # E: [arg-type]
waiting: Program[N3, Z, None, Download] = at(N3).retry(fetch)  # E: [assignment]
Row = Download | Delay
quiet: Program[N3, Z, None, Row] = at(N3).retry(do(fetch).or_else(Log("no")))  # E: [arg-type]
joined: Program[N3, Z, None, Row] = at(N3).do(store) >> at(N3).retry(fetch)  # E: [assignment]
otherwise: Program[N3, Z, None, Row] = at(N3).retry(fetch).or_else(store)  # E: [arg-type]
