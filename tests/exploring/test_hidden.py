"""State that a world does not show at first sight is compared too, or the model is refused."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any

import pytest

from ixbackoff import N0, N1, Command, Do, Interpreter, Misuse, at, attempt
from ixbackoff.testing.exploring import Broken, Explored, Model, dies


@dataclass(frozen=True)
class Charge(Command[None]):
    """Charge once: if the process dies and charges again, that is wrong."""


def fine(charges: int) -> None:
    assert charges == 1, "charged twice"


@dataclass
class NoField:
    def __post_init__(self) -> None:
        self.charges = 0

    def charge(self, _: Charge) -> None:
        self.charges += 1
        fine(self.charges)

    def interpreter(self) -> Interpreter[Charge]:
        return Charge.handled_by(self.charge)


@dataclass
class NotCompared(NoField):
    charges: int = field(default=0, compare=False)


class Equal(NoField):
    def __init__(self) -> None:
        self.charges = 0

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


class Rows(list[str]):
    charges = 0


@dataclass
class InAList(NoField):
    rows: Rows = field(default_factory=Rows)

    def charge(self, _: Charge) -> None:
        self.rows.charges += 1
        fine(self.rows.charges)


@dataclass
class InOrder(NoField):
    """The order of an `OrderedDict` belongs to its value."""

    turns: OrderedDict[str, int] = field(default_factory=lambda: OrderedDict(a=0, b=0))

    def charge(self, _: Charge) -> None:
        fine(1 if next(iter(self.turns)) == "a" else 2)
        self.turns.move_to_end("a")


@dataclass
class InAnIterator(NoField):
    numbers: Iterator[int] = field(default_factory=lambda: iter([1, 2]))

    def charge(self, _: Charge) -> None:
        fine(next(self.numbers))


@dataclass
class InAGenerator(InAnIterator):
    numbers: Iterator[int] = field(default_factory=lambda: (number for number in (1, 2)))


@dataclass
class InAClosure(NoField):
    def interpreter(self) -> Interpreter[Charge]:
        charges = 0

        def charge(_: Charge) -> None:
            nonlocal charges
            charges += 1
            fine(charges)

        return Charge.handled_by(charge)


def noted(_: Charge, charges: list[int]) -> None:
    charges.append(1)
    fine(len(charges))


class InADefault(NoField):
    def interpreter(self) -> Interpreter[Charge]:
        def charge(command: Charge, charges: list[int] = []) -> None:  # noqa: B006
            noted(command, charges)

        return Charge.handled_by(charge)


class InAPartial(NoField):
    def interpreter(self) -> Interpreter[Charge]:
        return Charge.handled_by(partial(noted, charges=[]))


class InAFunction(NoField):
    def interpreter(self) -> Interpreter[Charge]:
        def charge(command: Charge) -> None:
            noted(command, vars(charge).setdefault("charges", []))

        return Charge.handled_by(charge)


class InAService(NoField):
    def interpreter(self) -> Interpreter[Charge]:
        return NotCompared().interpreter()


@dataclass
class OneObject(NoField):
    """After a death before the charge both names are one list."""

    charged: list[int] = field(default_factory=list)
    backup: list[int] = field(default_factory=list)

    def charge(self, _: Charge) -> None:
        self.charged.append(1)
        fine(1 + len(self.backup))

    def forgets(self) -> None:
        self.backup = [] if self.charged else self.charged


MODULE: list[int] = []
NUMBER = 0


class InTheClass(NoField):
    charged: list[int] = []  # noqa: RUF012

    def charge(self, command: Charge) -> None:
        noted(command, self.charged)


class InTheModule(NoField):
    def charge(self, command: Charge) -> None:
        noted(command, MODULE)


class InAGlobal(NoField):
    def charge(self, _: Charge) -> None:
        global NUMBER
        NUMBER += 1
        fine(NUMBER)


class InADefaultOfTheClass(NoField):
    def charge(self, command: Charge, charges: list[int] = []) -> None:  # noqa: B006
        noted(command, charges)


def around() -> type[NoField]:
    charges: list[int] = []

    class Around(NoField):
        def charge(self, command: Charge) -> None:
            noted(command, charges)

    return Around


SEEN = [NoField, NotCompared, Equal, InAList, InOrder, InAnIterator, InAClosure, InADefault]
SEEN += [InAPartial, InAFunction, InAService, OneObject]
REFUSED = {
    InTheClass: "InTheClass.charged changes when the model runs",
    InTheModule: "MODULE changes",
    InAGlobal: "NUMBER changes",
    InADefaultOfTheClass: "A variable of .*charge changes",
    around(): "A variable of .*charge changes",
    InAGenerator: "The world cannot be compared, so give state=",
}


def searched(world: Any, merge: bool = True, **how: Any) -> Explored:
    forgets = getattr(world, "forgets", lambda _: None)
    model: Model[Any, Charge] = Model(world, world.interpreter, forgets=forgets, **how)
    return model.explore(at(N1).retry(Charge()), faults=dies(), surprises=1, merge=merge)


@pytest.mark.parametrize("world", SEEN)
@pytest.mark.parametrize("merge", [True, False])
def test_state_of_every_kind_is_seen(world: type[NoField], merge: bool) -> None:
    with pytest.raises(Broken, match="charged twice"):
        searched(world, merge)


@pytest.mark.parametrize(("world", "said"), REFUSED.items())
def test_state_that_outlives_a_history_is_refused(world: type[NoField], said: str) -> None:
    with pytest.raises(Misuse, match=said):
        searched(world)


def test_a_handler_may_hold_a_part_of_the_world() -> None:
    class Held(NotCompared):
        def __init__(self) -> None:
            self.charged: list[int] = []

        def interpreter(self) -> Interpreter[Charge]:
            charged = self.charged
            return Charge.handled_by(lambda _: charged.append(1))

    assert searched(Held).states == searched(Held, state=lambda world: world.charged).states


@dataclass(frozen=True)
class Join(Command[None]):
    name: str


@dataclass
class Club:
    """The first member leads. Names are the same whoever came first."""

    members: dict[str, list[str]] = field(default_factory=dict)
    president: list[str] | None = None

    def join(self, command: Join) -> None:
        new = self.members[command.name] = []
        self.president = new if self.president is None else self.president
        if command.name == "c":
            assert self.president is self.members["a"], "b came first"

    def interpreter(self) -> Interpreter[Join]:
        return Join.handled_by(self.join)


def test_the_order_of_a_dict_does_not_hide_which_part_has_another_name() -> None:
    programs = [at(N0).do(Join(name)).end() for name in "abc"]
    with pytest.raises(Broken, match="b came first"):
        Model(Club, Club.interpreter).explore(*programs, faults=(), surprises=1)


@dataclass(frozen=True)
class Holding(Charge):
    held: object


class Idle(NoField):
    def charge(self, _: Charge) -> None:
        pass


class Raising(NoField):
    def charge(self, _: Charge) -> None:
        raise ConnectionError(Lock())


@attempt
def raising() -> Do[Charge, None]:
    yield from Charge()
    raise ConnectionError(Lock())


@pytest.mark.parametrize(
    ("world", "effect"), [(NoField, Holding(Lock())), (Raising, Charge()), (Idle, raising())]
)
@pytest.mark.parametrize("merge", [True, False])
def test_commands_and_failures_without_visible_state_are_refused(
    world: Any, effect: Any, merge: bool
) -> None:
    with pytest.raises(Misuse, match=r"cannot be compared, so .* plain data: cannot pickle"):
        Model(world, world.interpreter).explore(at(N1).retry(effect), merge=merge, surprises=1)


def test_a_check_may_collect_what_it_sees() -> None:
    ends: list[object] = []
    model = Model(NoField, NoField.interpreter)
    model.explore(at(N1).retry(Charge()), surprises=0, at_end=lambda _, end: ends.append(end))
    assert len(ends) == 1


def test_with_a_state_only_that_is_compared() -> None:
    found: Callable[[Any], object] = lambda world: 0  # noqa: E731
    assert searched(InAClosure, state=found).histories == 3
