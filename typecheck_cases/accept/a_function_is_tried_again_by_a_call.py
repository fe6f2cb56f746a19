"""`backoff(...)` calls any function, makes its program, or tries a block of code."""

from typing import Any, assert_type

from ixbackoff import (
    N3,
    AsyncInterpreter,
    Backoff,
    Call,
    CallAsync,
    Constant,
    Delay,
    Interpreter,
    Program,
    Z,
    answered_by,
    backoff,
)

polite = backoff(N3)
assert_type(polite, Backoff[N3])


def page(url: str, limit: int = 10) -> bytes:
    return url.encode()[:limit]


async def page_async(url: str, limit: int = 10) -> bytes:
    return url.encode()[:limit]


assert_type(polite.call(page, "http://localhost/a", limit=3), bytes)
assert_type(polite.program(page, "http://localhost/a"), Program[N3, Z, bytes, Call[bytes] | Delay])
assert_type(
    polite.program_async(page_async, "http://localhost/a"),
    Program[N3, Z, bytes, CallAsync[bytes] | Delay],
)


def use(interpreter: Interpreter[Call[Any] | CallAsync[Any] | Delay]) -> bytes:
    program = polite.program(page, "http://localhost/a", limit=3)
    assert_type(program.run(interpreter), bytes)
    with answered_by(interpreter):
        for one_try in polite:
            with one_try:
                assert_type(one_try.number, int)
    return program.run(interpreter, schedule=Constant(2))


def use_of_functions(interpreter: Interpreter[Call[Any] | Delay]) -> None:
    with answered_by(interpreter):
        polite.call(page, "http://localhost/a")


def use_of_coroutine_functions(interpreter: Interpreter[CallAsync[Any] | Delay]) -> None:
    with answered_by(interpreter):
        pass


async def use_async(interpreter: AsyncInterpreter[CallAsync[Any] | Delay]) -> None:
    assert_type(await polite.call(page_async, "http://localhost/a", limit=3), bytes)
    with answered_by(interpreter):
        async for one_try in polite:
            with one_try:
                assert_type(one_try.number, int)
    program = polite.program_async(page_async, "http://localhost/a")
    assert_type(await program.run_async(interpreter), bytes)
