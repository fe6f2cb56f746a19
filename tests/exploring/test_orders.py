"""Commands that share no cell are tried in one order, and nothing is lost by that."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from functools import cache
from itertools import islice
from typing import Any

import pytest

from ixbackoff import N0, N2, Do, all_of, at, attempt
from ixbackoff.testing.exploring import Broken, End, Explored, Model
from ixbackoff.testing.exploring.shared_cells import WHOLE, Cells, Recorder, Touch

from ..support.generators.cell_models import Cupboard, Do1, ends, following
from ..support.models.stores import Put, Store


@cache
def known(seed: int) -> tuple[set[str], int | None]:
    """What `ends` finds with merging, once for all tests."""
    return ends(seed, merge=True)


@pytest.mark.slow
@pytest.mark.parametrize("tens", range(12))
def test_no_end_is_lost_and_no_failure_is_found_later(tens: int) -> None:
    for seed in range(10 * tens, 10 * tens + 10):
        assert known(seed) == ends(seed, merge=False), seed


@pytest.mark.slow
def test_the_random_searches_are_of_all_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    right = [known(seed) for seed in range(100)]
    assert 10 < sum(first is not None for _, first in right) < 60
    monkeypatch.setattr(Recorder, "apart", lambda *_: True)
    wrong = (ends(seed, merge=True) for seed in range(100))
    changed = (one != other for one, other in zip(right, wrong, strict=True))
    assert [*islice(filter(None, changed), 5)] == [True] * 5


@attempt
def puts(keys: Sequence[str]) -> Do[Put, None]:
    for key in keys:
        yield from Put(key)


def stored(keys: Sequence[Sequence[str]], **how: Any) -> Explored:
    programs = [at(N2).resume(puts(some)) for some in keys]
    return Model(Store, Store.interpreter).explore(*programs, surprises=3, **how)


def test_two_programs_on_disjoint_cells_are_few_histories() -> None:
    assert stored(["abcdef", "ghijkl"]).histories == 529
    assert stored(["abcdef"]).histories == 265


def test_one_common_cell_is_tried_in_all_orders() -> None:
    assert 529 < stored(["abcdef", "ghijka"]).histories < stored(["abcdef"] * 2).histories


def asked(*words: tuple[str, str]) -> Any:
    return at(N0).do(following([Do1(word, key, key, 1) for word, key in words], -1)).end()


def broken(*programs: Any, surprises: int = 1, at_end: Any = None, **model: Any) -> int | None:
    try:
        Model(Cupboard, Cupboard.interpreter, **model).explore(
            *programs, faults=(), surprises=surprises, at_end=at_end
        )
    except Broken as wrong:
        return len(wrong.history)
    return None


def test_a_rule_about_two_cells_sees_the_worlds_in_between() -> None:
    back = [("write", "a"), ("from", "a")], [("write", "c"), ("from", "c")]
    assert broken(*[asked(*one) for one in back], always=lambda it: (it.a, it.c) != (1, 1)) == 1


def ended(*values: int) -> Callable[[Any, Sequence[End[int]]], bool]:
    return lambda _, ends: [one.value for one in ends] != [*values]


def test_a_key_is_added_before_all_keys_are_counted() -> None:
    one, other = asked(("count", "a")), asked(("put", "c"))
    assert broken(one, other, at_end=ended(4, 0)) == 1


def test_a_change_carries_from_one_program_to_the_other() -> None:
    one, other = asked(("read", "a")), asked(("write", "c"))
    changes = [Cupboard.c_is_carried_to_a]
    assert broken(one, other, surprises=3, at_end=ended(1, 0), changes=changes) == 2


def test_a_third_program_comes_between() -> None:
    some = asked(("read", "a")), asked(("read", "b")), asked(("write", "a"), ("write", "b"))
    assert broken(*some, surprises=2, at_end=ended(1, 1, 0)) == 1


class InAList(Cupboard):
    """Two names of one list: a write by one name is a write by the other."""

    def __init__(self) -> None:
        super().__init__()
        self.lists["a"] = self.lists["c"]


def test_two_names_of_one_object_are_seen() -> None:
    one, other = asked(("append", "a")), asked(("append", "c"))
    model = Model(InAList, InAList.interpreter)
    with pytest.raises(Broken):
        model.explore(one, other, faults=(), at_end=ended(2, 1))


@attempt
def both() -> Do[Any, int]:
    return sum((yield from all_of(Do1("read", "a", "a", 0), Do1("read", "b", "b", 0))))


def test_branches_are_tried_in_all_orders() -> None:
    one, other = at(N0).do(both()).end(), asked(("write", "a"), ("write", "b"))
    for value in (0, 1, 2):
        assert broken(one, other, surprises=2, at_end=ended(value, 0)) is not None


KEYED: list[tuple[Callable[[Any], object], set[tuple[Any, bool]]]] = [
    (lambda it: it["a"], {("a", False), (WHOLE, False)}),
    (lambda it: it.get("x"), {("x", False), (WHOLE, False)}),
    (lambda it: "x" in it, {("x", False), (WHOLE, False)}),
]
WHOLES: list[Callable[[Any], object]] = [
    *(list, len, bool, dict, str, sorted, json.dumps, copy.copy, copy.deepcopy, reversed),
    *(set, frozenset, tuple, max, any, iter),
    lambda it: {**it},
    lambda it: {} | it,
    lambda it: it | {},
    lambda it: {}.update(it),
    lambda it: dict(**it),
    lambda it: it == {},
    lambda it: it.keys(),
    lambda it: it.values(),
    lambda it: it.items(),
    lambda it: it.copy(),
    lambda it: f"{it}",
    lambda it: set().union(it),
]


def cells(items: dict[str, Any], touched: set[Touch]) -> Cells:
    made = Cells(items)
    made.name, made.touched = "it", touched
    return made


@pytest.mark.parametrize(("access", "touches"), KEYED)
def test_an_access_by_key_touches_one_cell(access: Any, touches: set[tuple[Any, bool]]) -> None:
    touched: set[Touch] = set()
    access(cells({"a": 1}, touched))
    assert {one[1:] for one in touched} == touches


@pytest.mark.parametrize("access", WHOLES)
def test_each_way_to_read_a_dict_is_noticed(access: Callable[[Any], object]) -> None:
    touched: set[Touch] = set()
    access(cells({"a": 1}, touched))
    assert ("it", WHOLE, True) in touched
