"""An interpreter that answers more commands than a program issues can run it."""

from typing import Any, assert_type

from ixbackoff import N3, AsyncInterpreter, Command, Delay, Interpreter, Standard, at


class GetETag(Command[str]):
    __slots__ = ()


def narrower(interpreter: Interpreter[GetETag | Standard]) -> Interpreter[GetETag | Delay]:
    return interpreter


def narrower_async(
    interpreter: AsyncInterpreter[GetETag | Standard],
) -> AsyncInterpreter[GetETag | Delay]:
    return interpreter


def anything(interpreter: Interpreter[Command[Any]]) -> Interpreter[GetETag | Delay]:
    return interpreter


def run(interpreter: Interpreter[GetETag | Standard]) -> None:
    assert_type(at(N3).retry(GetETag()).run(interpreter), str)
