"""Running one program in each of the four ways, and observing it from outside."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from itertools import cycle
from typing import Any, NamedTuple, TypeAlias

import trio

from ixbackoff import (
    AsyncInterpreter,
    Call,
    Command,
    Delay,
    Interpreter,
    Log,
    Program,
    Schedule,
    Z,
)
from ixbackoff.testing import Virtual

AnyProgram: TypeAlias = Program[Any, Z, Any, Any]


class Ask(Command[int]):
    """A command for tests that asks for a number by a name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


calling = Call[Any].handled_by(lambda command: command())
"""An interpreter that calls functions for real."""

Row: TypeAlias = Ask | Delay | Log


class Seen(NamedTuple):
    """The commands of a run, in order, and its outcome: all that is visible from outside."""

    commands: list[str]
    value: Any
    failure: tuple[Any, ...] | None
    notes: list[str]

    @property
    def outcome(self) -> tuple[Any, Any]:
        return self.value, self.failure

    @property
    def waits(self) -> list[str]:
        return [command for command in self.commands if command.startswith("Delay")]


Outcomes: TypeAlias = Iterable[int | Exception]
Runner: TypeAlias = Callable[[AnyProgram, Outcomes, Schedule], Seen]


def asking(outcomes: Outcomes, commands: list[str]) -> Callable[[Ask], int]:
    """Make a handler that answers with one outcome after the other, and then starts again."""
    rounds = cycle(outcomes)

    def answer(command: Ask) -> int:
        commands.append(repr(command))
        outcome = next(rounds)
        if isinstance(outcome, Exception):
            raise type(outcome)(*outcome.args)  # a new one, since notes are added to it
        return outcome

    return answer


def interpreter(outcomes: Outcomes, commands: list[str]) -> Interpreter[Row]:
    return (
        Ask.handled_by(asking(outcomes, commands))
        | Delay.handled_by(lambda command: commands.append(repr(command)))
        | Log.handled_by(lambda command: commands.append(repr(command)))
    )


def seen(commands: list[str], run: Callable[[], Any]) -> Seen:
    try:
        return Seen(commands, run(), None, [])
    except Exception as failure:
        told = (type(failure), *failure.args)
        return Seen(commands, None, told, getattr(failure, "__notes__", []))


def run_sync(program: AnyProgram, outcomes: Outcomes, schedule: Schedule) -> Seen:
    commands: list[str] = []
    return seen(commands, lambda: program.run(interpreter(outcomes, commands), schedule=schedule))


def awaiting(
    outcomes: Outcomes, commands: list[str], pause: Callable[[], Awaitable[None]]
) -> AsyncInterpreter[Row]:
    answer = asking(outcomes, commands)

    async def answered(command: Ask) -> int:
        await pause()
        return answer(command)

    async def noted(command: Delay | Log) -> None:
        commands.append(repr(command))
        await pause()

    return Ask.awaited_by(answered) | Delay.awaited_by(noted) | Log.awaited_by(noted)


def run_asyncio(program: AnyProgram, outcomes: Outcomes, schedule: Schedule) -> Seen:
    commands: list[str] = []
    handlers = awaiting(outcomes, commands, lambda: asyncio.sleep(0))
    return seen(commands, lambda: asyncio.run(program.run_async(handlers, schedule=schedule)))


def run_trio(program: AnyProgram, outcomes: Outcomes, schedule: Schedule) -> Seen:
    commands: list[str] = []
    handlers = awaiting(outcomes, commands, trio.lowlevel.checkpoint)

    async def main() -> Any:
        return await program.run_async(handlers, schedule=schedule)

    return seen(commands, lambda: trio.run(main))


def run_virtual(program: AnyProgram, outcomes: Outcomes, schedule: Schedule) -> Seen:
    world = Virtual(Ask.handled_by(asking(outcomes, [])))
    result = seen([], lambda: program.run(world.interpreter, schedule=schedule))
    return result._replace(commands=[repr(command) for command in world.commands])


RUNNERS: dict[str, Runner] = {
    "sync": run_sync,
    "asyncio": run_asyncio,
    "trio": run_trio,
    "virtual": run_virtual,
}
