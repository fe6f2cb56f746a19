"""A world whose cells are recorded behaves as any other, and no access gets round the records."""

from __future__ import annotations

import dataclasses
import json
import pprint
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from ixbackoff import N0, Command, Interpreter, Misuse, at
from ixbackoff.testing.exploring import Explored, Model


@dataclass(frozen=True)
class Read(Command[Any]):
    """Read, in one way or another; the program ends with the answer."""


@dataclass(frozen=True)
class Write(Command[Any]):
    """Write the same cell, or another one."""


@dataclass
class Shelf:
    """What each world below has; reads and writes share a cell."""

    books: dict[str, int] = field(default_factory=dict)
    others: dict[str, int] = field(default_factory=dict)
    number: int = 0

    def read(self, _: Read) -> Any:
        return self.number

    def write(self, _: Write) -> Any:
        self.number = 1

    def interpreter(self) -> Interpreter[Read | Write]:
        return Read.handled_by(self.read) | Write.handled_by(self.write)


class EmptyAsJson(Shelf):
    def read(self, _: Read) -> Any:
        return json.dumps(self.books)

    def write(self, _: Write) -> Any:
        self.books["a"] = 1


class ReadByDict(EmptyAsJson):
    def read(self, _: Read) -> Any:
        found = dict.get(self.books, "a")
        self.books["b"] = 1
        return found


class WrittenByDict(Shelf):
    def read(self, _: Read) -> Any:
        return self.books.get("a")

    def write(self, _: Write) -> Any:
        dict.__setitem__(self.books, "a", 1)


class WrittenByObject(Shelf):
    def write(self, _: Write) -> Any:
        object.__setattr__(self, "number", 1)


class WrittenBySuper(Shelf):
    def write(self, _: Write) -> Any:
        super().__setattr__("number", 1)


class ReadByObject(Shelf):
    def read(self, _: Read) -> Any:
        return object.__getattribute__(self, "number")


class Book:
    pages = 0


class InASet(Shelf):
    """One object is in a set, and has a name besides."""

    def __init__(self) -> None:
        super().__init__()
        self.first = Book()
        self.shelved = {self.first}

    def read(self, _: Read) -> Any:
        return sum(book.pages for book in self.shelved)

    def write(self, _: Write) -> Any:
        self.first.pages = 1


class AKey(InASet):
    def __init__(self) -> None:
        super().__init__()
        self.shelved: Any = {self.first: 1}


SHARED: list[type[Shelf]] = [EmptyAsJson, ReadByDict, WrittenByDict, WrittenByObject]
SHARED += [WrittenBySuper, ReadByObject, InASet, AKey]


def explored(world: Any, merge: bool = True, at_end: Any = None) -> Explored:
    programs = at(N0).do(Read()).end(), at(N0).do(Write()).end()
    model: Model[Any, Any] = Model(world, world.interpreter)
    return model.explore(*programs, at_end=at_end, surprises=1, faults=(), merge=merge)


def reads(world: type[Shelf], merge: bool) -> set[object]:
    found: set[object] = set()
    explored(world, merge, at_end=lambda _, ends: found.add(ends[0].value))
    return found


@pytest.mark.parametrize("world", SHARED)
def test_no_way_to_read_or_write_gets_round_the_records(world: type[Shelf]) -> None:
    assert len(reads(world, merge=False)) == 2
    assert reads(world, merge=True) == reads(world, merge=False)


class AsDict(Shelf):
    """Two commands that share nothing, as in all worlds below."""

    def read(self, _: Read) -> Any:
        assert dataclasses.asdict(self)["books"] == {}

    def write(self, _: Write) -> Any:
        self.others["a"] = 1


class OfItsClass(Shelf):
    def write(self, _: Write) -> Any:
        assert type(self) is OfItsClass


def names(value: object) -> list[str]:
    if type(value) is not dict:
        raise ValueError(f"no dict: {value!r}")
    return [*value]


class OfPlainDicts(AsDict):
    def read(self, _: Read) -> Any:
        return names(self.books)


class Printed(AsDict):
    def read(self, _: Read) -> Any:
        self.books |= {"b": 1, "a": 1}
        assert pprint.pformat(self.books) == "{'a': 1, 'b': 1}"


class Registered(AsDict):
    known: list[type] = []  # noqa: RUF012

    def __init_subclass__(cls) -> None:
        Registered.known.append(cls)

    def read(self, _: Read) -> Any:
        return self.number


class InheritedFrom(Registered):
    """A subclass of this one would be noticed."""


class Sealed(Registered):
    def __init_subclass__(cls) -> None:
        raise ValueError("it is sealed")


@pytest.mark.parametrize(
    "world", [AsDict, OfItsClass, OfPlainDicts, Printed, InheritedFrom, Sealed]
)
def test_a_world_does_not_notice_that_it_is_recorded(world: type[Shelf]) -> None:
    explored(world)


class InItsClass(Shelf):
    made = 0

    def write(self, _: Write) -> Any:
        type(self).made += 1


@dataclass(frozen=True)
class Frozen:
    number: int = 0
    interpreter: Callable[[Any], Any] = lambda world: (
        Read.handled_by(lambda _: world.number)
        | Write.handled_by(lambda _: setattr(world, "other", 1))
    )


def test_what_is_wrong_in_another_world_is_wrong_in_a_recorded_one() -> None:
    with pytest.raises(Misuse, match=r"InItsClass\.made changes when the model runs"):
        explored(InItsClass)
    with pytest.raises(AssertionError, match="cannot assign to field 'other'"):
        explored(Frozen)


def as_a_whole(world: Shelf) -> bool:
    return vars(world)["number"] == 0 or "a" in vars(world)["others"]


def by_another_way(world: Shelf) -> bool:
    return world.number == 0 or dict.get(world.others, "a") == 1


@pytest.mark.parametrize("rule", [as_a_whole, by_another_way])
def test_a_rule_may_read_the_world_in_any_way(rule: Callable[[Shelf], bool]) -> None:
    class Both(Shelf):
        def read(self, _: Read) -> Any:
            self.others["a"] = 1

    programs = at(N0).do(Read()).end(), at(N0).do(Write()).end()
    with pytest.raises(AssertionError, match="is false"):
        Model(Both, Both.interpreter, always=rule).explore(*programs, surprises=1, faults=())
