"""`within` is a number of seconds, or `None`; the row stays as it is."""

from typing import assert_type

from ixbackoff import N3, Command, Delay, Exponential, Interpreter, Now, at, time_limit, unroll


class GetETag(Command[str]):
    __slots__ = ()


program = at(N3).retry(GetETag())
half = 0.5


async def run(interpreter: Interpreter[GetETag | Delay | Now], seconds: float | None) -> None:
    assert_type(program.run(interpreter, within=10), str)
    assert_type(program.run(interpreter, within=half, schedule=Exponential()), str)
    assert_type(program.run(interpreter, within=seconds), str)
    assert_type(program.run(interpreter, within=None), str)
    assert_type(await program.run_async(interpreter, within=10), str)
    assert_type(time_limit(), float | None)
    assert_type(time_limit(5), float)
    unroll(program, within=10)
