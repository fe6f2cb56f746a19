"""Commands per second of a program in do-notation, beside stateless and a bare loop."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from stateless.ability import Ability
from stateless.effect import Depend, run
from stateless.handler import handle

from ixbackoff import N0, Command, Do, at, attempt

from .measuring import Target, interleaved

COMMANDS = 20_000
ROUNDS = 61


class Ask(Command[int]):
    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class AskStateless(Ability[int]):
    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


@attempt
def asking(times: int) -> Do[Ask, int]:
    total = 0
    for number in range(times):
        total += yield from Ask(number)
    return total


def asking_stateless(times: int) -> Depend[AskStateless, int]:
    total = 0
    for number in range(times):
        total += yield from AskStateless(number)
    return total


def asking_bare(times: int) -> Generator[Ask, int, int]:
    total = 0
    for number in range(times):
        total += yield Ask(number)
    return total


def ours() -> int:
    return at(N0).do(asking(COMMANDS)).run(Ask.handled_by(lambda command: command.number))


def answer_stateless(command: AskStateless) -> int:
    return command.number


def stateless_peer() -> int:
    return run(handle(answer_stateless)(asking_stateless)(COMMANDS))


def bare() -> int:
    handlers: dict[type, Any] = {Ask: lambda command: command.number}
    program = asking_bare(COMMANDS)
    try:
        command = next(program)
        while True:
            command = program.send(handlers[type(command)](command))
    except StopIteration as end:
        total: int = end.value
        return total


def targets() -> list[Target]:
    assert ours() == stateless_peer() == bare()
    own, peer, loop = interleaved([ours, stateless_peer, bare], ROUNDS)
    millions = "{:.2f} M/s and {:.2f} M/s".format
    return [
        Target(
            "commands a second, beside stateless 0.6.1",
            peer / own,
            1.4,
            True,
            millions(COMMANDS / own / 1e6, COMMANDS / peer / 1e6),
        ),
        Target(
            "commands a second, beside a bare generator and dict",
            loop / own,
            0.6,
            True,
            millions(COMMANDS / own / 1e6, COMMANDS / loop / 1e6),
        ),
    ]
