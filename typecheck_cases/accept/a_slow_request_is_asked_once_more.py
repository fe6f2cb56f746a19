"""An attempt of repeatable commands can be hedged, and keeps its row and its answer."""

from dataclasses import dataclass
from typing import assert_type

from ixbackoff import (
    N3,
    Attempt,
    Call,
    Command,
    Delay,
    Do,
    Download,
    Hedge,
    Interpreter,
    Limiter,
    Log,
    Now,
    Program,
    Read,
    ReadAsync,
    Repeatable,
    RetryBudget,
    Z,
    all_of,
    at,
    attempt,
    call,
    do,
    first_of,
    read,
    read_async,
)


@dataclass(frozen=True)
class GetETag(Repeatable[str]):
    url: str


@dataclass(frozen=True)
class PutTag(Command[None]):
    url: str


async def half(number: int) -> int:
    return number // 2


hedge = Hedge(0.05, least=0.01, known=50, budget=RetryBudget(10))
tag = do(GetETag("/a")).hedged(hedge)
assert_type(tag, Attempt[GetETag | Now, str])
assert_type(at(N3).retry(tag), Program[N3, Z, str, GetETag | Now | Delay])
assert_type(tag.limit(5), Attempt[GetETag | Now, str])
assert_type(tag.through(Limiter(line=5)), Attempt[GetETag | Now | Delay, str])
assert_type(tag.then(PutTag), Attempt[GetETag | PutTag | Now, None])
assert_type(do(Download("/a", "a")).hedged(hedge), Attempt[Download | Now, None])
assert_type(do(read(len, "four")).hedged(hedge), Attempt[Read[int] | Now, int])
assert_type(do(read_async(half, 8)).hedged(hedge), Attempt[ReadAsync[int] | Now, int])
assert_type(do(GetETag("/a")).then(Log).hedged(hedge), Attempt[GetETag | Log | Now, None])
assert_type(all_of(tag, tag), Attempt[GetETag | Now, tuple[str, str]])
all_of(GetETag("/a"), GetETag("/b")).hedged(hedge)
first_of([GetETag("/a"), GetETag("/b")]).hedged(hedge)


@attempt
def newest(url: str) -> Do[GetETag | Download, str]:
    found = yield from GetETag(url)
    yield from Download(url, found)
    return found


assert_type(newest("/a").hedged(hedge), Attempt[GetETag | Download | Now, str])


@attempt
def length(text: str) -> Do[Read[int] | Call[int], int]:
    return (yield from read(len, text)) + (yield from call(len, text))


def run(interpreter: Interpreter[Call[int] | Now | Delay]) -> None:
    at(N3).retry(do(read(len, "four")).hedged(hedge)).run(interpreter)


def either(both: Attempt[GetETag | Log, int]) -> Attempt[GetETag | Log | Now, int]:
    return both.hedged(hedge)
