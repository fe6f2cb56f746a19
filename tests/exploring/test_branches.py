"""Branches of `all_of`: they go on in every order, end each other, and go on durably."""

from __future__ import annotations

import gc
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest

from ixbackoff import N0, N2, Command, Do, Interpreter, NotReady, all_of, at, attempt
from ixbackoff.testing.exploring import Broken, Model, dies, fails, slow


@dataclass(frozen=True)
class Put(Command[str]):
    key: str


@dataclass
class Store:
    put: list[str] = field(default_factory=list)
    refuses: str = ""

    def answer(self, command: Put) -> str:
        if command.key == self.refuses:
            raise NotReady(command.key)
        self.put.append(command.key)
        return command.key

    def interpreter(self) -> Interpreter[Put]:
        return Put.handled_by(self.answer)


@attempt
def puts(*keys: str) -> Do[Put, str]:
    """Put some, and clean up."""
    try:
        for key in keys:
            yield from Put(key)
        return keys[0]
    finally:
        yield from Put(f"{keys[0]} cleaned")


@attempt
def nested() -> Do[Put, tuple[str, ...]]:
    first, rest = yield from all_of(puts("a"), all_of(puts("b"), puts("c")))
    yield from Put("joined")
    return (first, *rest)


model = Model(Store, Store.interpreter)
refusing = Model(lambda: Store(refuses="b2"), Store.interpreter)


def ended(one: Model[Store, Any], effect: Any, **how: Any) -> list[tuple[list[str], Any]]:
    """What was put in each history that is looked at to its end, and the value."""
    seen: list[tuple[list[str], Any]] = []
    one.explore(
        at(N0).do(effect), at_end=lambda world, ends: seen.append((world.put, ends[0].value)), **how
    )
    return seen


def test_all_branches_are_joined_whatever_their_order() -> None:
    seen = ended(model, nested(), faults=(), surprises=4)
    assert len({tuple(put) for put, _ in seen}) > 10
    for put, value in seen:
        assert value == ("a", "b", "c")
        assert sorted(put) == ["a", "a cleaned", "b", "b cleaned", "c", "c cleaned", "joined"]
        assert put[-1] == "joined"


def test_a_branch_that_fails_ends_the_others_which_clean_up() -> None:
    together = all_of(puts("a1", "a2"), puts("b1", "b2"), puts("c1"))
    for put, _ in ended(refusing, together, faults=(), surprises=3):
        assert "b1 cleaned" in put
        if "a1" in put and "a2" not in put:
            assert "a1 cleaned" in put


def test_a_slow_branch_lets_the_others_go_first() -> None:
    together = all_of(puts("a"), puts("b"))
    [(put, _)] = ended(model, together, faults=[slow(5)], only="0 takes 5 s")
    assert put == ["a", "b", "b cleaned", "a cleaned"]


def test_a_history_names_the_branch() -> None:
    wrong = Model(Store, Store.interpreter, always=lambda world: world.put[:1] != ["b"])
    with pytest.raises(Broken) as caught:
        wrong.explore(at(N0).do(all_of(puts("a"), puts("b"))))
    assert str(caught.value).splitlines() == [
        "always=<lambda> is false",
        "! 0     A2 goes on",
        "  1  A2 Put(key='b')  -> 'b'",
        "        put: [] => ['b']",
        "again: explore(..., only='0 A2 goes on')",
    ]


@pytest.mark.parametrize("surprises", [1, 2])
def test_an_answered_command_of_a_branch_is_not_asked_again_durably(surprises: int) -> None:
    deaths = ended(model, nested(), faults=dies("durably"), surprises=surprises)
    assert len(deaths) > 10
    for put, value in deaths:
        assert value == ("a", "b", "c")
        again = sum(number - 1 for number in Counter(put).values())
        assert max(Counter(put).values()) <= 1 + surprises  # once more for each death and branch
        assert again <= 3 * surprises


@pytest.mark.parametrize("how", [{"faults": ()}, {"faults": dies("durably")}])
def test_histories_leave_no_branch_for_the_collector(how: dict[str, Any]) -> None:
    ended(model, nested(), surprises=1, **how)
    gc.collect()
    gc.disable()
    try:
        ended(model, nested(), surprises=1, **how)
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_two_branches_are_under_way_when_a_process_dies() -> None:
    together = all_of(puts("a"), puts("b"))
    lists = [put for put, _ in ended(model, together, faults=dies("durably"), surprises=1)]
    both = ["a", "b", "a", "a cleaned", "b", "b cleaned"]  # done, and nobody was told
    only_b = ["b", "a", "a cleaned", "b", "b cleaned"]
    assert both[:2] in [sorted(put[:2]) for put in lists if Counter(put)["a"] == 2]
    assert only_b in lists
    for put in lists:
        assert max(Counter(put).values()) <= 2  # once more for each branch


def test_a_death_with_two_branches_under_way_is_printed_and_replayed() -> None:
    wrong = Model(Store, Store.interpreter, always=lambda one: sorted(one.put) != ["a", "a", "b"])
    program = at(N0).do(all_of(puts("a"), puts("b")))
    with pytest.raises(Broken) as caught:
        wrong.explore(program, faults=dies("durably"), surprises=1)
    text = str(caught.value)
    assert "! 0  A1 Put(key='a')  dies after it, starts durably (A2 is done)" in text
    with pytest.raises(Broken) as again:
        wrong.explore(program, faults=dies("durably"), only=str(caught.value.history))
    assert str(again.value) == text


def test_a_failed_branch_is_told_again_durably() -> None:
    program = at(N2).retry(all_of(puts("a"), puts("b")))
    seen: list[Any] = []
    model.explore(
        program,
        at_end=lambda world, ends: seen.append(ends[0].value),
        faults=[fails(), *dies("durably")],
        surprises=2,
    )
    assert set(seen) == {("a", "b")}
