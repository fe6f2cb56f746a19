"""A breaker is a value that programs can be run with; an effect that it guards needs the time."""

from typing import assert_type

from ixbackoff import (
    N3,
    Attempt,
    Breaker,
    Delay,
    Download,
    Interpreter,
    Log,
    Now,
    Program,
    Z,
    at,
    backoff,
    do,
)

breaker = Breaker(failures=5, within=10, rest=30)
wider = Breaker(failures=5, within=10.5, rest=30.5, on=[KeyError, ConnectionError])
guarded = do(Download("http://localhost/a", "a")).guarded(breaker)

assert_type(guarded, Attempt[Download | Now, None])
assert_type(at(N3).retry(guarded), Program[N3, Z, None, Download | Now | Delay])
assert_type(breaker.state, str)


@backoff(N3, breaker=breaker)
def price(item: str) -> int:
    return len(item)


assert_type(price("apple"), int)


def run(interpreter: Interpreter[Log | Now], breaker: Breaker | None) -> None:
    at(N3).do(Log("first")).give_up().run(interpreter, breaker=breaker)


async def run_async(interpreter: Interpreter[Log | Now], breaker: Breaker | None) -> None:
    await at(N3).do(Log("second")).give_up().run_async(interpreter, breaker=breaker)
