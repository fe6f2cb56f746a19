"""A breaker is a value that programs can be run with; an effect that it guards needs the time."""

from typing import assert_type

from ixbackoff import (
    N3,
    Attempt,
    CircuitBreaker,
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

breaker = CircuitBreaker(failures=5, within=10, open_for=30)
wider = CircuitBreaker(failures=5, within=10.5, open_for=30.5, on=[KeyError, ConnectionError])
guarded = do(Download("http://localhost/a", "a")).guarded(breaker)

assert_type(guarded, Attempt[Download | Now, None])
assert_type(at(N3).retry(guarded), Program[N3, Z, None, Download | Now | Delay])
assert_type(breaker.state, str)


@backoff(N3, breaker=breaker)
def price(item: str) -> int:
    return len(item)


assert_type(price("apple"), int)


def run(interpreter: Interpreter[Log | Now], breaker: CircuitBreaker | None) -> None:
    at(N3).do(Log("first")).end().run(interpreter, breaker=breaker)


async def run_async(interpreter: Interpreter[Log | Now], breaker: CircuitBreaker | None) -> None:
    await at(N3).do(Log("second")).end().run_async(interpreter, breaker=breaker)
