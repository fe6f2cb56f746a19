"""Hedges in explorations: the copy may begin at any time, and the loser may be done late."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from ixbackoff import N0, N3, Do, Hedge, Interpreter, NotReady, Repeatable, at, attempt, do
from ixbackoff.testing.exploring import Broken, Model, dies, fails


@dataclass(frozen=True)
class Put(Repeatable[int]):
    """A lie: a late copy of it puts an old value back."""

    value: int


@dataclass
class Store:
    values: list[int] = field(default_factory=list)

    def put(self, command: Put) -> int:
        self.values.append(command.value)
        return command.value

    def interpreter(self) -> Interpreter[Put]:
        return Put.handled_by(self.put)


model = Model(Store, Store.interpreter)


def hedged(value: int) -> Any:
    return do(Put(value)).hedged(Hedge())


@attempt
def two() -> Do[Any, int]:
    yield from hedged(1)
    value: int = yield from hedged(2)
    return value


def test_a_late_copy_that_puts_an_old_value_back_is_found() -> None:
    def newest(world: Store, ends: Any) -> None:
        assert ends[0].value == 2
        assert world.values[-1] == 2

    with pytest.raises(Broken) as broken:
        model.explore(at(N0).do(two()), at_end=newest, faults=(), surprises=3)
    assert "only now is done: Put(value=1)" in str(broken.value)


def test_without_surprises_there_is_no_copy() -> None:
    seen: list[list[int]] = []
    model.explore(
        at(N0).do(two()),
        at_end=lambda world, ends: seen.append(world.values),
        faults=(),
        surprises=0,
    )
    assert seen == [[1, 2]]


def test_the_copy_may_win_and_both_may_fail() -> None:
    seen: set[tuple[tuple[int, ...], Any]] = set()

    def at_end(world: Store, ends: Any) -> None:
        seen.add((tuple(world.values), ends[0].value))

    model.explore(
        at(N3).retry(hedged(1)), at_end=at_end, faults={Put: [fails(NotReady())]}, surprises=3
    )
    assert ((1,), 1) in seen
    assert all(value == 1 for _, value in seen)
    assert max(len(values) for values, _ in seen) >= 2


def test_a_durable_run_makes_no_copy() -> None:
    def at_end(world: Store, ends: Any) -> None:
        assert world.values[-1] == 2
        assert len(world.values) <= 3

    found = model.explore(
        at(N0).do(two()), at_end=at_end, faults={Put: dies("durably")}, surprises=1
    )
    assert found
