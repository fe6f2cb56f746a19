"""Each surprise does what it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from ixbackoff import (
    N0,
    N2,
    Command,
    Do,
    Interpreter,
    Log,
    Now,
    Pick,
    Throw,
    all_of,
    at,
    attempt,
    do,
    time_limit,
)
from ixbackoff.durable import current_command
from ixbackoff.testing.exploring import (
    Broken,
    End,
    Explored,
    Faults,
    Model,
    asks,
    dies,
    fails,
    late,
    lost,
    may_break,
    slow,
)


@dataclass(frozen=True)
class Put(Command[int]):
    key: str


@dataclass
class Store:
    """A world that remembers all that was put."""

    put: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    limits: list[float | None] = field(default_factory=list)

    def answer(self, command: Put) -> int:
        self.limits.append(time_limit())
        key = current_command()
        if key is not None:
            self.keys.append(f"{key.place} {key.repeated}")
        self.put.append(command.key)
        may_break()
        self.put.append(f"{command.key} whole")
        return len(self.put)

    def interpreter(self) -> Interpreter[Put]:
        return Put.handled_by(self.answer)

    def somebody_puts(self) -> None:
        self.put.append("somebody")

    def forgets(self) -> None:
        self.put.append("forgotten")


model = Model(Store, Store.interpreter, changes=[Store.somebody_puts], forgets=Store.forgets)
ONE = at(N2).retry(Put("a"))


@attempt
def two() -> Do[Put, tuple[int, int]]:
    first = yield from Put("a")
    second = yield from Put("b")
    return first, second


def put_after(faults: Faults, history: str, program: Any = ONE, **how: Any) -> str:
    """What was put in one history, and how the program ended."""
    told: list[str] = []

    def at_end(world: Store, ends: Sequence[End[Any]]) -> None:
        told.append(", ".join([*world.put, *[str(one.value) for one in ends]]))

    model.explore(program, at_end=at_end, faults=faults, only=history, **how)
    return told[0]


@pytest.mark.parametrize(
    ("faults", "history", "put"),
    [
        ([fails()], "0 fails with ServerError", "a, a whole, 2"),
        ([lost()], "0 is done, but answers ServerError", "a, a whole, a, a whole, 4"),
        ([lost()], "0 is done in part (1), answers ServerError", "a, a, a whole, 3"),
        ([asks(30)], "0 asks to be left alone for 30 s", "a, a whole, 2"),
        ([slow(5)], "0 takes 5 s", "a, a whole, 2"),
        ([late()], "0 is on its way, but answers TimeoutError", "a, a whole, 2"),
        (
            [late()],
            "0 is on its way, but answers TimeoutError; 2 only now is done: Put(key='a')",
            "a, a whole, a, a whole, 2",
        ),
        (dies(), "0 dies before it, starts anew", "forgotten, a, a whole, 3"),
        (dies(), "0 dies after it, starts anew", "a, a whole, forgotten, a, a whole, 5"),
        (dies(), "0 is done in part (1), dies after it, starts anew",
         "a, forgotten, a, a whole, 4"),
        (dies("for good"), "0 dies after it for good", "a, a whole, forgotten, None"),
        ([], "0 meanwhile somebody puts", "somebody, a, a whole, 3"),
    ],
)  # fmt: skip
def test_it_does_what_it_says(faults: Faults, history: str, put: str) -> None:
    assert put_after(faults, history) == put


def test_a_late_command_is_done_before_the_end_after_it_or_never() -> None:
    ended: set[tuple[str, ...]] = set()

    def at_end(world: Store, ends: object) -> None:
        ended.add(tuple(one for one in world.put if "whole" not in one))

    alone = Model(Store, Store.interpreter)
    alone.explore(at(N2).resume(two()), at_end=at_end, faults={Put: [late()]})
    assert {("a", "b"), ("a", "a", "b"), ("a", "b", "a")} <= ended


@pytest.mark.parametrize(
    ("start", "put"),
    [
        ("anew", "a, a whole, b, b whole, forgotten, a, a whole, b, b whole, (7, 9)"),
        ("durably", "a, a whole, b, b whole, forgotten, b, b whole, (2, 7)"),
    ],
)
def test_a_process_that_goes_on_durably_asks_no_answered_command_again(
    start: Any, put: str
) -> None:
    history = f"1 dies after it, starts {start}"
    assert put_after(dies(start), history, at(N2).retry(two())) == put


def test_the_handlers_of_a_durable_process_are_told_the_key_of_their_command() -> None:
    keys: list[str] = []
    model.explore(
        at(N2).retry(two()),
        at_end=lambda world, ends: keys.extend(world.keys),
        faults=dies("durably"),
        only="1 dies after it, starts durably",
    )
    assert keys == ["A:0 False", "A:1 False", "A:1 True"]


def test_an_answer_that_is_too_slow_is_lost() -> None:
    assert put_after([slow(5)], "0 takes 5 s", within=3, may_raise=TimeoutError) == (
        "a, a whole, None"
    )


def test_handlers_are_told_their_time_limit() -> None:
    limits: list[float | None] = []
    model.explore(
        at(N2).retry(do(Put("a")).limit(4)),
        at_end=lambda world, ends: limits.extend(world.limits),
        only="nothing",
    )
    assert limits == [4]


def test_a_pick_is_each_of_its_numbers() -> None:
    picked: set[object] = set()
    Model(Store, Store.interpreter).explore(
        at(N0).do(Pick(4)),
        at_end=lambda world, ends: picked.add(ends[0].value),
        surprises=1,
    )
    assert picked == {0, 1, 2, 3}


def test_what_needs_no_handler_is_no_step() -> None:
    program = at(N2).wait().do(Log("hello")).then(lambda _: Now()).end()
    ends: list[object] = []
    found = model.explore(program, at_end=lambda world, end: ends.append(end[0].value), faults=())
    assert (found.commands, set(ends)) == (0, {1.0})


def test_a_failure_that_nobody_injected_is_an_error_of_the_program() -> None:
    program = at(N0).do(Throw(KeyError("key")))
    with pytest.raises(Broken, match=r"A raised KeyError\('key'\), which was not injected"):
        model.explore(program)
    model.explore(program, may_raise=KeyError, faults=())


@attempt
def mistaken() -> Do[Put, None]:
    answer = yield from Put("a")
    raise KeyError(answer)


def test_an_error_of_the_program_is_told_with_its_place() -> None:
    with pytest.raises(
        Broken, match=r"A raised KeyError\(2\) in mistaken \(test_surprises.py:\d+\)"
    ):
        model.explore(at(N2).retry(mistaken()))


def test_an_injected_failure_is_none_whatever_it_is() -> None:
    model.explore(at(N0).do(Put("a")), faults=[fails(KeyError("key"))])


def test_faults_by_kind_are_those_of_the_nearest_base() -> None:
    near = model.explore(ONE, faults={Command: [lost()], Put: [fails()]}, surprises=1)
    assert near == model.explore(ONE, faults=[fails()], surprises=1)
    histories = model.explore(ONE, faults={Command: [lost()]}, surprises=1).histories
    assert histories == model.explore(ONE, faults=[lost()], surprises=1).histories


def test_programs_run_in_every_order() -> None:
    orders: set[tuple[str, ...]] = set()

    def at_end(world: Store, ends: object) -> None:
        orders.add(tuple(one for one in world.put if "whole" not in one))

    alone = Model(Store, Store.interpreter)
    both = [at(N0).do(do(Put("a")).then(lambda _: Put("b"))), at(N0).do(Put("c"))]
    alone.explore(*both, at_end=at_end, faults=(), surprises=2)
    assert orders == {("a", "b", "c"), ("c", "a", "b"), ("a", "c", "b")}


def test_branches_run_in_every_order() -> None:
    orders: set[tuple[str, ...]] = set()

    def at_end(world: Store, ends: object) -> None:
        orders.add(tuple(one for one in world.put if "whole" not in one))

    branches = all_of(do(Put("a")).then(lambda _: Put("b")), do(Put("c")).then(lambda _: Put("d")))
    Model(Store, Store.interpreter).explore(
        at(N0).do(branches), at_end=at_end, faults=(), surprises=3
    )
    assert len(orders) == 6  # of four commands, two by two in order


def test_again_runs_the_first_program_once_more_without_surprises() -> None:
    ended: list[int] = []
    found: Explored = Model(Store, Store.interpreter).explore(
        ONE, at_end=lambda world, ends: ended.append(len(ends)), again=True, surprises=1
    )
    assert set(ended) == {1}
    assert found.commands > found.histories
