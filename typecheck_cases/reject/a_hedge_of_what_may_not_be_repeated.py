"""A command that may do harm if it is issued twice cannot be hedged; neither can a hedge."""

from dataclasses import dataclass

from ixbackoff import (
    N0,
    N3,
    Attempt,
    Command,
    Do,
    Hedge,
    Interpreter,
    Repeatable,
    Upload,
    at,
    attempt,
    call,
    do,
)


@dataclass(frozen=True)
class GetETag(Repeatable[str]):
    url: str


@dataclass(frozen=True)
class PutTag(Command[None]):
    url: str


hedge = Hedge()
do(Upload("a", "s3://b/a")).hedged(hedge)  # E: [call-arg]
do(PutTag("/a")).hedged(hedge)  # E: [call-arg]
do(call(len, "four")).hedged(hedge)  # E: [call-arg]
do(GetETag("/a")).then(PutTag).hedged(hedge)  # E: [call-arg]
do(GetETag("/a")).or_else(PutTag("/a")).hedged(hedge)  # E: [call-arg]
do(GetETag("/a")).hedged(hedge).hedged(hedge)  # E: [call-arg]
do(GetETag("/a")).limit(5).hedged(hedge)  # E: [call-arg]
GetETag("/a").hedged(hedge)  # E: [attr-defined]
at(N3).retry(GetETag("/a")).hedged(hedge)  # E: [attr-defined]


@attempt
def tag(url: str) -> Do[GetETag | PutTag, None]:
    found = yield from GetETag(url)
    yield from PutTag(found)


tag("/a").hedged(hedge)  # E: [call-arg]


def some(given: Attempt[GetETag | PutTag, str]) -> None:
    given.hedged(hedge)  # E: [call-arg]


def run(interpreter: Interpreter[GetETag]) -> None:
    at(N0).do(do(GetETag("/a")).hedged(hedge)).run(interpreter)  # E: [arg-type]


do(GetETag("/a")).hedged(0.05)  # E: [call-overload]
