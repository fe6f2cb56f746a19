"""`call_async` takes a coroutine function and its arguments, and is for `run_async`."""

from ixbackoff import N3, AsyncInterpreter, Call, CallAsync, Delay, Interpreter, at, call_async


async def size(path: str) -> int:
    return len(path)


call_async(size)  # E: [call-arg]
call_async(size, 1)  # E: [arg-type]
call_async(size, "a", quick=True)  # E: [call-arg]
call_async(len, "a")  # E: [arg-type]
call_async(1)  # E: [arg-type]


async def run(
    plain: Interpreter[Call[int] | Delay], awaited: AsyncInterpreter[CallAsync[int] | Delay]
) -> None:
    program = at(N3).retry(call_async(size, "a"))
    program.run(plain)  # E: [arg-type]
    program.run(awaited)  # E: [arg-type]
    await program.run_async(plain)  # E: [arg-type]
    number: str = await program.run_async(awaited)  # E: [assignment]
