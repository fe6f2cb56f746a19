"""`run` takes a program that has come down to `N0`, and returns its value."""

from typing import assert_type

from ixbackoff import N0, N3, Command, Computed, Constant, Delay, Exponential, Interpreter, Log, at


class GetETag(Command[str]):
    __slots__ = ()


def get_etag(command: GetETag) -> str:
    return repr(command)


def pause(delay: Delay) -> None:
    print(delay.seconds, delay.rung, delay.failure)


def squares(k: int) -> float:
    return (k + 1) ** 2


def run(interpreter: Interpreter[GetETag | Delay | Log]) -> None:
    program = at(N3).retry(GetETag())
    assert_type(program.run(interpreter), str)
    assert_type(program.run(interpreter, schedule=Exponential(base=0.1, factor=3, cap=5)), str)
    assert_type(program.run(interpreter, schedule=Constant(5).jittered()), str)
    assert_type(program.run(interpreter, schedule=Computed(squares)), str)
    assert_type(program.map(len).run(interpreter), int)
    assert_type(at(N3).end().run(interpreter), None)
    assert_type(at(N0).do(GetETag()).run(interpreter), str)
    assert_type(program.run(GetETag.handled_by(get_etag) | Delay.handled_by(pause)), str)
    assert_type(at(N0).do(GetETag()).run(GetETag.handled_by(get_etag)), str)
