"""How many histories there are, and how little is kept of them."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Iterable
from typing import Any

import pytest

from ixbackoff import N3, Do, Log, at, attempt
from ixbackoff.testing.exploring import Model, Progress
from ixbackoff.testing.exploring import searching as searching_module

from ..support.models.stores import Put, Store

pytestmark = pytest.mark.slow


@attempt
def puts(keys: Iterable[str]) -> Do[Put | Log, None]:
    for key in keys:
        yield from Log(f"putting {key}")
        yield from Put(key)


store = Model(Store, Store.interpreter)


def of(programs: int, commands: int) -> list[Any]:
    """So many programs of so many commands."""
    return [
        at(N3).resume(puts([f"{program} {number}" for number in range(commands)]))
        for program in range(programs)
    ]


@pytest.mark.parametrize(
    ("programs", "surprises", "histories"),
    [(1, 1, 41), (1, 2, 341), (1, 3, 601), (2, 1, 81), (2, 2, 681), (2, 3, 1201)],
)
def test_histories_grow_as_the_documentation_says(
    programs: int, surprises: int, histories: int
) -> None:
    assert store.explore(*of(programs, 10), surprises=surprises).histories == histories


@pytest.mark.parametrize(("surprises", "histories"), [(1, 91), (2, 1046), (3, 5376)])
def test_histories_on_the_same_cells_are_more(surprises: int, histories: int) -> None:
    assert store.explore(*[of(1, 10)[0]] * 2, surprises=surprises).histories == histories


@pytest.mark.parametrize(("commands", "histories"), [(3, 19), (5, 51), (8, 129)])
def test_all_orders_of_two_programs_are_few_histories(commands: int, histories: int) -> None:
    same = [of(1, commands)[0]] * 2
    assert store.explore(*same, faults=(), surprises=2 * commands).histories == histories
    assert store.explore(*of(2, commands), faults=(), surprises=2 * commands).histories == 1


def test_a_history_that_was_looked_at_is_not_kept() -> None:
    tracemalloc.start()
    try:
        found = store.explore(*[of(1, 10)[0]] * 2)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.histories > 1000
    assert most / found.histories < 1000  # bytes


def test_progress_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching_module, "EVERY", 0.0)
    told: list[Progress] = []
    found = store.explore(*of(1, 12), progress=told.append)
    assert [one.explored.histories for one in told] == [200, 400]
    assert re.match("400 histories, [0-9]+ states, now with 2 surprises, after", str(told[-1]))
    assert 400 < found.histories < 600
