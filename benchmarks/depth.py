"""Time of 10^6 chained steps over that of 10^5, nested left and right, at the default recursion
limit.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from ixbackoff import N0, Command, Do, Program, Z, at, attempt, do

from .measuring import Target, interleaved

SMALL = 100_000
LARGE = 1_000_000
ROUNDS = 5

AnyProgram = Program[Any, Any, Any, Any]


class Once(Command[int]):
    __slots__ = ()


ONCE = Once()
ANSWERED = Once.handled_by(lambda command: 1)


def once(_: int) -> Once:
    return ONCE


def bound_once(_: int) -> AnyProgram:
    return at(N0).do(ONCE)


def left_then(depth: int) -> AnyProgram:
    program: AnyProgram = at(N0).do(ONCE)
    for _ in range(depth):
        program = program.then(once)
    return program


def right_then(depth: int) -> AnyProgram:
    def nested(left: int) -> Callable[[Any], Any]:
        return lambda _: do(ONCE).then(nested(left - 1)) if left else ONCE

    return at(N0).do(ONCE).then(nested(depth - 1))


def left_bind(depth: int) -> AnyProgram:
    program: AnyProgram = at(N0).do(ONCE)
    for _ in range(depth):
        program = program.bind(bound_once)
    return program


def right_bind(depth: int) -> AnyProgram:
    def nested(left: int) -> Callable[[Any], Any]:
        return lambda _: at(N0).do(ONCE).bind(nested(left - 1)) if left else at(N0).do(ONCE)

    return at(N0).do(ONCE).bind(nested(depth - 1))


def in_do_notation(depth: int) -> AnyProgram:
    @attempt
    def nested(left: int) -> Do[Once, int]:
        yield from ONCE
        return (yield from nested(left - 1)) if left else 1

    return at(N0).do(nested(depth))


def ran(make: Callable[[int], AnyProgram], depth: int) -> Callable[[], None]:
    def run() -> None:
        program: Program[Z, Z, int, Once] = make(depth)
        assert program.run(ANSWERED) == 1

    return run


def targets() -> list[Target]:
    result: list[Target] = []
    for make in (left_then, right_then, left_bind, right_bind, in_do_notation):
        gc.collect()
        gc.disable()
        try:
            small, large = interleaved([ran(make, SMALL), ran(make, LARGE)], ROUNDS)
        finally:
            gc.enable()
        name = make.__name__.replace("_", " ")
        result.append(
            Target(
                f"10^6 over 10^5 steps, {name}",
                large / small,
                12,
                False,
                f"{large:.2f} s and {small:.3f} s",
            )
        )
    return result
