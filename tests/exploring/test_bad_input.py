"""What cannot be explored is refused in one sentence, which says what to change."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest

from ixbackoff import (
    FOREVER,
    N0,
    N1,
    Command,
    Interpreter,
    Log,
    Misuse,
    NotReady,
    RetryBudget,
    at,
    backoff,
)
from ixbackoff.testing.exploring import Model, Surprise, asks, dies, fails, slow


@dataclass(frozen=True)
class Look(Command[list[str]]):
    pass


@dataclass(frozen=True)
class Add(Command[None]):
    name: str


@dataclass
class World:
    names: list[str] = field(default_factory=list)
    shares: bool = False
    lock: object = None

    def look(self, _: Look) -> list[str]:
        return self.names if self.shares else [*self.names]

    def add(self, command: Add) -> None:
        self.names.append(command.name)

    def interpreter(self) -> Interpreter[Look | Add]:
        return Look.handled_by(self.look) | Add.handled_by(self.add)


model: Any = Model(World, World.interpreter)
ONE: Any = at(N1).retry(Add("a"))
looks: Any = at(N1).do(Look()).then(lambda names: Add(f"a{len(names)}")).end()
numbers = count()
WORLD = World()


class Uncopied(Exception):
    def __init__(self, one: int, other: int) -> None:
        super().__init__(f"{one} {other}")


@backoff(N1, budget=RetryBudget(3))
def frugal() -> None: ...


def whimsical(_: object) -> Add:
    return Add(f"a{next(numbers)}")


def growing() -> Any:
    """A model whose worlds are not apart."""
    names: list[str] = []
    return Model(lambda: World(names), World.interpreter)


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "surprises below 0": (
        lambda: model.explore(ONE, surprises=-1),
        "surprises=-1: give a whole number, 0 or more.",
    ),
    "half a surprise": (
        lambda: model.explore(ONE, surprises=0.5),
        "surprises=0.5: give a whole number, 0 or more.",
    ),
    "most below 1": (
        lambda: model.explore(ONE, most=0),
        "most=0: give a whole number, 1 or more.",
    ),
    "no program": (model.explore, "There is nothing to explore: give a program"),
    "a command": (lambda: model.explore(Add("a")), "is not a program: write at(N0).do(...)."),
    "an open program": (
        lambda: model.explore(at(N1).do(Add("a"))),
        "The program is open, it ends at N1",
    ),
    "a budget": (lambda: model.explore(frugal), "A budget or a breaker is shared by all runs"),
    "a schedule of numbers": (
        lambda: model.explore(ONE, schedule=[1]),
        "is not a Schedule: give one, Listed([1]).",
    ),
    "a command that nobody answers": (
        lambda: Model(World, lambda world: Log.handled_by(print)).explore(ONE),
        "No handler for Add: join one to the interpreter",
    ),
    "an answer that is a part of the world": (
        lambda: Model(lambda: World(shares=True), World.interpreter).explore(looks),
        "The answer to Look() was changed after it was given, so it is a part of the world",
    ),
    "a world that cannot be compared": (
        lambda: Model(lambda: World(lock=threading.Lock()), World.interpreter).explore(ONE),
        "The world cannot be compared, so give state=, a function from it to plain data",
    ),
    "a program that is not deterministic": (
        lambda: model.explore(at(N1).do(Look()).then(whimsical).end()),
        "After the same history a program issued Add(name='a",
    ),
    "a world that depends on chance": (
        lambda: Model(
            lambda: World([str(random.random())]),  # noqa: S311
            World.interpreter,
        ).explore(ONE),
        "After the same history the world differs before Add(name='a')",
    ),
    "one world for all histories": (
        lambda: Model(lambda: WORLD, World.interpreter).explore(ONE),
        "world() returned the same world twice: let it make a fresh one each time.",
    ),
    "worlds that share a list": (
        lambda: growing().explore(ONE),
        "After the same history the world differs before Add(name='a')",
    ),
    "no interpreter": (
        lambda: Model(World, lambda world: None).explore(ONE),  # type: ignore[arg-type,return-value]
        "interpreter(world) returned None: return an Interpreter",
    ),
    "a program without end": (
        lambda: Model(World, lambda world: Add.handled_by(never)).explore(
            at(FOREVER).retry(Add("a"))
        ),
        "After 10,000 commands the history is not over",
    ),
    "a check that is no function": (
        lambda: Model(World, World.interpreter, always=True),  # type: ignore[arg-type]
        "always=True: give a function of the world.",
    ),
    "a state that is no function": (
        lambda: Model(World, World.interpreter, state="names"),  # type: ignore[arg-type]
        "state='names': give a function of the world.",
    ),
    "two changes of one name": (
        lambda: Model(World, World.interpreter, changes=[change, change]),
        "changes: two functions are called 'change': give them distinct names.",
    ),
    "one surprise": (
        lambda: model.explore(ONE, faults=fails()),
        "give a sequence of surprises, such as (fails(),).",
    ),
    "dies in a list": (
        lambda: model.explore(ONE, faults=[fails(), dies()]),
        "faults: dies() makes several surprises: write (fails(), *dies()).",
    ),
    "a failure as a surprise": (
        lambda: model.explore(ONE, faults=[NotReady()]),
        "is not a surprise: write fails(), lost() or such.",
    ),
    "a kind that is no command": (
        lambda: model.explore(ONE, faults={str: [fails()]}),
        "is not a kind of command.",
    ),
    "a number as a failure": (lambda: fails(503), "503 is not a failure"),  # type: ignore[arg-type]
    "a failure that cannot be copied": (lambda: fails(Uncopied(1, 2)), "Uncopied cannot be copied"),
    "another start": (lambda: dies("soon"), 'give "anew", "durably" or "for good".'),  # type: ignore[arg-type]
    "another history": (
        lambda: model.explore(ONE, only="0 explodes"),
        "only='0 explodes': the surprises at step 0 are fails with ServerError; is done, but",
    ),
    "a history that is too long": (
        lambda: model.explore(ONE, only="7 fails with ServerError"),
        "only='7 fails with ServerError': the history ends before this",
    ),
    "a number as a history": (
        lambda: model.explore(ONE, only=7),
        "only=7: give a history as it was printed, or a drawn one.",
    ),
}


def never(command: Add) -> None:
    raise NotReady("never")


def change(world: World) -> None: ...


@pytest.mark.parametrize(("wrong", "said"), WRONG.values(), ids=WRONG)
def test_it_is_refused_in_one_sentence(wrong: Callable[[], object], said: str) -> None:
    with pytest.raises(Misuse) as caught:
        wrong()
    text = str(caught.value)
    assert said in text
    assert "\n" not in text
    assert len(text) < 300


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: slow(0), r"slow\(0\): give a finite number of seconds, above 0"),
        (lambda: fails(after=-1), r"after=-1: give a finite number of seconds, 0 or more"),
        (lambda: fails(after="a"), "after='a': give a finite number of seconds"),  # type: ignore[arg-type]
        (lambda: asks(float("nan")), r"asks\(nan\): give a finite number of seconds, 0 or more"),
        (lambda: asks("a"), r"asks\('a'\): give a finite number of seconds"),  # type: ignore[arg-type]
        (lambda: asks(None), r"asks\(None\): give a finite number"),  # type: ignore[arg-type]
    ],
)
def test_seconds_that_cannot_be_are_refused(wrong: Callable[[], Surprise], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        wrong()


def test_a_state_makes_a_world_comparable() -> None:
    locked = Model(
        lambda: World(lock=threading.Lock()),
        World.interpreter,
        state=lambda world: world.names,
    )
    assert locked.explore(ONE) == model.explore(ONE)


def test_a_list_that_the_program_itself_changes_is_not_shared() -> None:
    def changed(names: list[str]) -> Add:
        names.append("mine")
        return Add(f"{len(names)}")

    model.explore(at(N1).do(Look()).then(changed).do(Add("b")).end())


def test_a_misuse_tells_the_history() -> None:
    with pytest.raises(Misuse) as caught:
        Model(World, lambda world: Log.handled_by(print)).explore(at(N0).do(Add("a")))  # type: ignore[arg-type]
    assert caught.value.__notes__ == ["in the history: nothing"]
