"""Random programs and worlds: every kind of command, surprise and rule, drawn by a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from ixbackoff import (
    N1,
    Command,
    Do,
    Interpreter,
    NotReady,
    Now,
    Pick,
    all_of,
    at,
    attempt,
    do,
)
from ixbackoff.testing.exploring import (
    Broken,
    End,
    Model,
    Surprise,
    asks,
    dies,
    fails,
    late,
    lost,
    may_break,
    slow,
)

KEYS = "xy"
FAULTS: tuple[Surprise, ...] = (
    fails(),
    lost(),
    late(),
    slow(2),
    asks(3),
    fails(TimeoutError(), after=2),
    *dies(),
    *dies("durably"),
    *dies("for good"),
)


@dataclass(frozen=True)
class Get(Command[int]):
    key: str


@dataclass(frozen=True)
class Set(Command[None]):
    key: str
    value: int


@dataclass(frozen=True)
class Add(Command[int]):
    key: str


@dataclass(frozen=True)
class Move(Command[None]):
    """Take one from a key and give it to another: in two steps, where it may break."""

    source: str
    to: str


@dataclass
class Numbers:
    values: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KEYS, 0))
    most: int = 9

    def set(self, command: Set) -> None:
        self.values[command.key] = command.value

    def add(self, command: Add) -> int:
        self.values[command.key] += 1
        return self.values[command.key]

    def move(self, command: Move) -> None:
        self.values[command.source] -= 1
        may_break()
        self.values[command.to] += 1

    def interpreter(self) -> Interpreter[Get | Set | Add | Move]:
        return (
            Get.handled_by(lambda command: self.values[command.key])
            | Set.handled_by(self.set)
            | Add.handled_by(self.add)
            | Move.handled_by(self.move)
        )

    def somebody_adds(self) -> None:
        self.values["x"] += 1

    def loses(self) -> None:
        self.values["y"] = 0


Instruction = tuple[str, str, int]
Searching = Callable[[int], tuple[Model[Numbers, Any], list[Any], dict[str, Any]]]
Found = tuple[set[tuple[str, int]], list[Broken], int]


@attempt
def following(instructions: Sequence[Instruction], last: int = 0) -> Do[Any, int]:
    """Do what the instructions say; each may depend on the last answer."""
    for place, (word, key, number) in enumerate(instructions):
        match word:
            case "get":
                last = yield from Get(key)
            case "set":
                yield from Set(key, (last + number) % 4)
            case "add":
                last = yield from Add(key)
            case "move":
                yield from Move(key, "xy".replace(key, ""))
            case "pick":
                last = yield from Pick(number + 1)
            case "now":
                last = int((yield from Now())) % 3
            case "unless" if last == number:
                return last
            case "not ready" if last < number:
                raise NotReady("too few")
            case "limited":
                inside = following(instructions[place + 1 :], last)
                return (yield from do(inside).limit(LIMIT))
            case "together":
                rest = instructions[place + 1 :]
                half = len(rest) // 2
                some = all_of(following(rest[:half], last), following(rest[half:], last))
                return sum((yield from some))
            case _:
                pass
    return last


LIMIT = 3.0  # seconds
WORDS = ("get", "get", "set", "add", "move", "pick", "now", "unless", "not ready", "together")


TIMED = ("get", "get", "add", "add", "set", "now")


def instructions(chance: Random) -> list[Instruction]:
    return [
        (chance.choice(WORDS), chance.choice(KEYS), chance.randrange(3))
        for _ in range(chance.randint(2, 4))
    ]


def timed_instructions(chance: Random) -> list[Instruction]:
    """Longer ones, in which much depends on when something is done."""

    def some(least: int, most: int) -> list[Instruction]:
        number = chance.randint(least, most)
        return [
            (chance.choice(TIMED), chance.choice(KEYS), chance.randrange(3)) for _ in range(number)
        ]

    if chance.random() < 0.5:
        return [("together", "x", 0), *some(4, 5), ("now", "x", 0)]
    return [*some(1, 1), ("limited", "x", 0), *some(2, 3)]


def rule(chance: Random) -> Callable[[Numbers], None]:
    """A rule that a world keeps, or not."""
    key, most, total = chance.choice(KEYS), chance.randint(0, 2), chance.randint(0, 3)

    def always(world: Numbers) -> None:
        assert world.values[key] <= most, f"{key} is {world.values[key]}"
        assert sum(world.values.values()) <= total, f"in all {sum(world.values.values())}"

    return always


def search(seed: int) -> tuple[Model[Numbers, Any], list[Any], dict[str, Any]]:
    """A model, programs, and how to explore them."""
    chance = Random(seed)  # noqa: S311
    model = Model(
        Numbers,
        Numbers.interpreter,
        always=rule(chance),
        changes=[Numbers.somebody_adds] if chance.random() < 0.3 else [],
        forgets=Numbers.loses if chance.random() < 0.5 else lambda _: None,
    )
    number = chance.choice([1, 1, 2])
    programs: list[Any] = []
    for _ in range(number):
        effect = following(instructions(chance))
        programs.append(at(N1).retry(effect) if chance.random() < 0.5 else at(N1).resume(effect))
    how = {
        "surprises": 2,
        "faults": tuple(chance.sample(FAULTS, 3)),
        "again": chance.random() < 0.3,
        "within": chance.choice([None, None, 2.5]),
        "may_raise": Exception,
    }
    return model, programs, how


def timed_search(seed: int) -> tuple[Model[Numbers, Any], list[Any], dict[str, Any]]:
    """As `search`, where commands take their time, or are late: as others that only fail."""
    chance = Random(seed)  # noqa: S311
    effect = following(timed_instructions(chance))
    program = at(N1).retry(effect) if chance.random() < 0.7 else at(N1).resume(effect)
    same = chance.choice([(fails(GONE), late(GONE)), (slow(2), slow(1)), (slow(2),)])
    how = {
        "surprises": 2,
        "faults": same,
        "within": chance.choice([None, 4.5]),
        "may_raise": Exception,
    }
    return Model(Numbers, Numbers.interpreter), [program], how


GONE = TimeoutError("gone")
"""The failure of commands that are late, and of commands that only fail."""


def every_end(world: Numbers, ends: Sequence[End[Any]]) -> None:
    """Call each end wrong, so that all of them are found."""
    ended = [(one.value, type(one.failure).__name__, one.died) for one in ends]
    raise AssertionError(f"it ends with {world.values} and {ended}")


def found(seed: int, merge: bool, searching: Searching = search) -> Found:
    """All that is wrong in a random search: what, and with how few surprises."""
    model, programs, how = searching(seed)
    at_end = every_end if seed % 2 or searching is timed_search else None
    try:
        explored = model.explore(*programs, at_end=at_end, most=10**6, merge=merge, **how)
    except ExceptionGroup as group:
        broken = [one for one in group.exceptions if isinstance(one, Broken)]
        return {(one.reason, len(one.history)) for one in broken}, broken, 0
    return set(), [], explored.histories
