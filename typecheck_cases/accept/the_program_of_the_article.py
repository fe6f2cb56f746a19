"""The article's program, with its last two calls on a ladder of three waits."""

from dataclasses import dataclass
from typing import assert_type

from ixbackoff import (
    N3,
    Command,
    Delay,
    Do,
    Download,
    Interpreter,
    Log,
    Program,
    Upload,
    Z,
    at,
    attempt,
)


@dataclass(frozen=True)
class GetETag(Command[str]):
    url: str


@dataclass(frozen=True)
class FindCopy(Command[str | None]):
    url: str
    etag: str


@dataclass(frozen=True)
class RecordCopy(Command[None]):
    url: str
    etag: str
    key: str


@attempt
def keep(url: str) -> Do[GetETag | FindCopy | Download | Upload | RecordCopy | Log, str]:
    etag = yield from GetETag(url)
    key = yield from FindCopy(url, etag)
    if key is not None:
        yield from Log("a hit")
        return key
    yield from Download(url, "kept")
    yield from Upload("kept", f"memory:///{etag}")
    yield from RecordCopy(url, etag, etag)
    return etag


Row = GetETag | FindCopy | Download | Upload | RecordCopy | Log | Delay

program = at(N3).resume(keep("http://localhost/a"))
assert_type(program, Program[N3, Z, str, Row])


def run(interpreter: Interpreter[Row]) -> str:
    return program.run(interpreter)
