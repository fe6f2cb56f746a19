"""`FOREVER` is a ladder without end: a retry there goes on until it is well, and ends at `Z`."""

from typing import Any, Never, TypeVar, assert_type

from ixbackoff import (
    FOREVER,
    N0,
    N3,
    Attempt,
    Backoff,
    Call,
    Command,
    Delay,
    Do,
    Forever,
    Interpreter,
    Log,
    Nat,
    Program,
    Rung,
    Z,
    at,
    attempt,
    backoff,
)


N = TypeVar("N", bound=Nat)


class GetETag(Command[str]):
    __slots__ = ()


@attempt
def careful() -> Do[GetETag | Log, str]:
    yield from Log("careful")
    return (yield from GetETag())


def on_each(rung: int) -> Attempt[GetETag | Log, str]:
    return careful()


start = at(FOREVER)
assert_type(start, Program[Forever, Forever, None, Never])
assert_type(start.do(GetETag()), Program[FOREVER, FOREVER, str, GetETag])
assert_type(start.retry(GetETag()), Program[FOREVER, Z, str, GetETag | Delay])
assert_type(start.resume(careful()), Program[FOREVER, Z, str, GetETag | Log | Delay])
assert_type(start.retry_with(on_each), Program[FOREVER, Z, str, GetETag | Log | Delay])
assert_type(start.do(GetETag()).end(), Program[FOREVER, Z, str, GetETag])
assert_type(start.or_else(Log("a")).map(repr), Program[FOREVER, FOREVER, str, Log])
assert_type(start.do(Log("a")) >> start.retry(GetETag()), Program[FOREVER, Z, str, Log | GetETag | Delay])
assert_type(start.retry(GetETag()) >> at(N0).do(Log("a")), Program[FOREVER, Z, None, Log | GetETag | Delay])


def reconnect(_: object) -> Program[FOREVER, Z, str, GetETag | Delay]:
    return at(FOREVER).retry(GetETag())


assert_type(start.bind(reconnect), Program[FOREVER, Z, str, GetETag | Delay])


def run(interpreter: Interpreter[GetETag | Log | Delay]) -> None:
    assert_type(start.retry(careful()).run(interpreter), str)


def fetched(rung: Rung[N]) -> Program[N, Z, str, GetETag | Delay]:
    return at(rung).retry(GetETag())


assert_type(fetched(FOREVER), Program[FOREVER, Z, str, GetETag | Delay])
assert_type(fetched(N3), Program[N3, Z, str, GetETag | Delay])


@backoff(FOREVER)
def page(url: str) -> bytes:
    return url.encode()


assert_type(page("http://localhost/a"), bytes)
for_ever: Backoff[FOREVER] = backoff(FOREVER)
assert_type(for_ever.program(len, "a"), Program[FOREVER, Z, int, Call[int] | Delay])


def answered(calls: Interpreter[Call[Any] | Delay]) -> int:
    return for_ever.program(len, "a").run(calls)
