"""`call_async` makes a command of a coroutine function, and answers what is awaited."""

from typing import assert_type

from ixbackoff import (
    N3,
    AsyncInterpreter,
    Attempt,
    CallAsync,
    Delay,
    Program,
    Z,
    at,
    call_async,
    do,
)


async def size(path: str, *, limit: int = 10) -> int:
    return min(len(path), limit)


assert_type(call_async(size, "a", limit=3), CallAsync[int])
assert_type(do(call_async(size, "a")), Attempt[CallAsync[int], int])
assert_type(at(N3).retry(call_async(size, "a")), Program[N3, Z, int, CallAsync[int] | Delay])


async def run(interpreter: AsyncInterpreter[CallAsync[int] | Delay]) -> None:
    assert_type(await call_async(size, "a")(), int)
    assert_type(await at(N3).retry(call_async(size, "a")).run_async(interpreter), int)
