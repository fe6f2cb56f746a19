"""Random programs that share cells of a world, or do not; drawn by a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from ixbackoff import N1, Command, Do, Interpreter, at, attempt
from ixbackoff.testing.exploring import Broken, End, Model, Surprise, dies, fails, late, lost

KEYS = "abcd"
FAULTS: tuple[Surprise, ...] = (fails(), lost(), late(), *dies(), *dies("for good"))


@dataclass(frozen=True)
class Do1(Command[int]):
    """One access to a cell, by a word."""

    word: str
    key: str
    other: str
    number: int


@dataclass
class Cupboard:
    """Cells of every kind: keys of a dict, attributes, a list."""

    keys: dict[str, int] = field(default_factory=lambda: {"a": 0, "b": 0})
    lists: dict[str, list[int]] = field(default_factory=lambda: {key: [] for key in KEYS})
    a: int = 0
    b: int = 0
    c: int = 0
    d: int = 0
    noted: tuple[int, ...] = ()

    def act(self, command: Do1) -> int:
        key, number = command.key, command.number
        match command.word:
            case "get":
                return self.keys.get(key, 0)
            case "put":
                self.keys[key] = number
            case "add":
                self.keys[key] = self.keys.get(key, 0) + 1
                return self.keys[key]
            case "drop":
                return self.keys.pop(key, 0)
            case "copy":
                self.keys[key] = self.keys.get(command.other, 0)
            case "count":
                return len(self.keys) + sum(self.keys.values())
            case "replace":
                self.keys = {**self.keys, key: number}
            case "read":
                return int(getattr(self, key))
            case "write":
                setattr(self, key, number)
            case "from":
                setattr(self, key, getattr(self, command.other) + 1)
            case "if":
                if key in self.keys:
                    self.a += 1
            case "append":
                self.lists[key].append(number)
                return len(self.lists[key])
            case "length":
                return sum(map(len, self.lists.values()))
            case "vars":
                return len(str(vars(self)))
            case _:
                self.noted = (*self.noted, number)
        return 0

    def interpreter(self) -> Interpreter[Do1]:
        return Do1.handled_by(lambda command: self.act(command))

    def a_is_changed(self) -> None:
        self.keys["a"] = 3

    def c_is_carried_to_a(self) -> None:
        self.a = self.c

    def b_is_lost(self) -> None:
        self.b = 0

    def shown(self) -> str:
        numbers = [self.a, self.b, self.c, self.d, self.noted]
        return str([sorted(self.keys.items()), self.lists, *numbers])


WORDS = ("get", "put", "add", "copy", "if", "read", "write", "from", "append") * 4
MORE = ("drop", "count", "replace", "length", "note", "vars")


@attempt
def following(commands: Sequence[Do1], stops: int) -> Do[Do1, int]:
    last = 0
    for command in commands:
        last = yield from command
        if last == stops:
            return last
    return last


def program(chance: Random, keys: str) -> Any:
    commands = [
        Do1(
            chance.choice(WORDS + MORE),
            chance.choice(keys),
            chance.choice(keys),
            chance.randint(0, 2),
        )
        for _ in range(chance.choice([1, 2, 2, 3, 4]))
    ]
    effect = following(commands, chance.choice([2, 3, -1]))
    start = at(N1)
    ways: list[Callable[[], Any]] = [
        lambda: start.retry(effect),
        lambda: start.resume(effect),
        lambda: start.do(effect).end(),
        lambda: start.do(effect).backoff().retry(commands[0]),
    ]
    return chance.choice(ways)()


def rule(chance: Random) -> Callable[[Cupboard], object]:
    """A rule about one cell, two cells, or a whole dict."""
    key, other, most = chance.choice(KEYS), chance.choice(KEYS), chance.randint(0, 1)
    rules: list[Callable[[Cupboard], object]] = [
        lambda world: None,
        lambda world: getattr(world, key) <= most,
        lambda world: world.keys.get(key, 0) <= most,
        lambda world: world.keys.get(key, 0) + world.keys.get(other, 0) <= most,
        lambda world: world.a + world.c + world.b + world.d <= most + 2,
        lambda world: sum(world.keys.values()) <= most + 1,
        lambda world: len(world.lists[key]) <= most and getattr(world, other) <= most,
    ]
    return chance.choice(rules)


Searching = tuple[Model[Cupboard, Any], list[Any], dict[str, Any]]


def search(seed: int) -> Searching:
    """A model, programs on cells that are often disjoint, and how to explore them."""
    chance = Random(seed)  # noqa: S311
    model = Model(
        Cupboard,
        Cupboard.interpreter,
        always=rule(chance) if chance.random() < 0.6 else lambda _: None,
        changes=chance.choice([[], [], [Cupboard.a_is_changed], [Cupboard.c_is_carried_to_a]]),
        forgets=Cupboard.b_is_lost if chance.random() < 0.2 else lambda _: None,
    )
    apart = chance.random()
    keys = ("ab", "cd") if apart < 0.5 else ("abc", "cd") if apart < 0.8 else (KEYS, KEYS)
    programs = [program(chance, some) for some in keys]
    faults = tuple(chance.sample(FAULTS, chance.randint(1, 2)))
    how = {"surprises": chance.choice([1, 2, 2, 3]), "faults": faults, "may_raise": Exception}
    how["again"] = bool(model._setting.changes) and chance.random() < 0.7
    return model, programs, how


def ends(seed: int, merge: bool) -> tuple[set[str], int | None]:
    """All ends of a search, and the number of surprises of its first failure."""
    model, programs, how = search(seed)
    found: set[str] = set()

    def at_end(world: Cupboard, all_ends: Sequence[End[Any]]) -> None:
        found.add(f"{world.shown()} {[*described(all_ends)]}")

    try:
        model.explore(*programs, at_end=at_end, merge=merge, **how)
    except Broken as broken:
        return set(), len(broken.history)
    return found, None


def described(all_ends: Sequence[End[Any]]) -> Iterator[str]:
    for one in all_ends:
        yield f"{one.value} {one.failure!r} {one.died}"
