"""`attempt` makes attempts of a generator function, and keeps the function's arguments."""

from typing import assert_type

from ixbackoff import Attempt, Command, Do, Download, Log, Throttled, attempt


class GetETag(Command[str]):
    __slots__ = ("url",)

    def __init__(self, url: str) -> None:
        self.url = url


@attempt
def fetch(url: str, *, loud: bool = False) -> Do[GetETag | Download | Log, str]:
    if loud:
        yield from Log(url)
    etag = yield from GetETag(url)
    assert_type(etag, str)
    try:
        yield from Download(url, etag)
    except Throttled as failure:
        assert_type(failure.retry_after, float | None)
        yield from Log("throttled")
        raise
    return etag


@attempt
def fetch_both() -> Do[GetETag | Download | Log, list[str]]:
    first = yield from fetch("http://localhost/a")
    second = yield from fetch("http://localhost/b", loud=True)
    return [first, second]


assert_type(fetch("http://localhost/a"), Attempt[GetETag | Download | Log, str])
assert_type(fetch_both(), Attempt[GetETag | Download | Log, list[str]])
