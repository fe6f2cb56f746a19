"""FOREVER: a ladder without end, which goes on until it is well, or until something ends it."""

from __future__ import annotations

import asyncio
from math import inf
from typing import Any

import pytest

from ixbackoff import (
    FOREVER,
    N0,
    N3,
    N20,
    Constant,
    DeadlineExceeded,
    Exponential,
    Misuse,
    NotReady,
    Throttled,
    at,
    backoff,
    call,
    plan,
    reflect,
    unroll,
)
from ixbackoff._functions.default_interpreters import PLAIN
from ixbackoff.testing import Virtual, always, answers

from ..support.ways.programs import Ask

ask = Ask("a")
WAYS: dict[str, Any] = {
    "retry": lambda: at(FOREVER).retry(ask),
    "resume": lambda: at(FOREVER).resume(ask),
    "retry_with": lambda: at(FOREVER).retry_with(lambda _: ask),
}


def well_after(failures: int) -> Any:
    return Virtual(Ask.handled_by(answers(*[NotReady()] * failures, 7)))


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_it_waits_as_on_the_deepest_ladder_and_then_the_last_wait_again(way: Any) -> None:
    world = well_after(25)
    assert way().run(world.interpreter) == 7
    deepest = [2.0**k for k in range(20)]
    assert world.waits == [*deepest, *[deepest[-1]] * 5]


def test_awaited_it_is_the_same() -> None:
    world = well_after(25)
    assert asyncio.run(at(FOREVER).retry(ask).run_async(world.interpreter)) == 7
    assert len(world.waits) == 25


def test_its_waits_tell_the_rungs_of_the_deepest_ladder_and_then_the_last() -> None:
    stream: Any = unroll(at(FOREVER).retry(ask))
    rungs = []
    next(stream)
    for _ in range(23):
        rungs.append(stream.throw(NotReady()).rung)
        next(stream)
    assert rungs == [*range(20, 0, -1), 1, 1, 1]


def test_a_function_of_the_rung_is_asked_for_each_try() -> None:
    asked: list[int] = []

    def varying(rung: int) -> Ask:
        asked.append(rung)
        return ask

    at(FOREVER).retry_with(varying).run(well_after(22).interpreter)
    assert asked == [*range(20, 0, -1), 1, 1, 1]


def test_no_wait_is_shorter_than_the_one_before_nor_than_asked_for() -> None:
    script: list[Any] = [NotReady(), Throttled(50), *[NotReady()] * 30, 7]
    world = Virtual(Ask.handled_by(answers(*script)))
    schedule = (Exponential(0.1) & Constant(10)).jittered(2)
    at(FOREVER).retry(ask).run(world.interpreter, schedule=schedule)
    assert world.waits == sorted(world.waits)
    assert len(world.waits) == 32
    assert world.waits[1] == 50


def test_a_deadline_ends_it_with_the_last_failure() -> None:
    world = Virtual(Ask.handled_by(always(NotReady())))
    with pytest.raises(NotReady) as raised:
        at(FOREVER).retry(ask).run(world.interpreter, schedule=Constant(1), within=100)
    assert len(world.waits) == 99
    assert raised.value.__notes__[-1] == "ixbackoff: tries: 100, waits: 99, 99 s in all"


def test_what_is_not_worth_another_try_ends_it() -> None:
    world = Virtual(Ask.handled_by(answers(NotReady(), KeyError("k"))))
    with pytest.raises(KeyError):
        at(FOREVER).retry(ask).run(world.interpreter)


def test_a_decorated_function_is_called_until_it_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    left = iter([NotReady() for _ in range(30)])

    @backoff(FOREVER, schedule=Constant(0.5))
    def page() -> str:
        for failure in left:
            raise failure
        return "page"

    assert page() == "page"
    assert waits == [0.5] * 30


def test_a_block_is_tried_until_it_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    for one_try in backoff(FOREVER):
        with one_try:
            if one_try.number < 24:
                raise NotReady
    assert len(waits) == 23


def test_it_can_give_up_and_goes_on_with_what_follows() -> None:
    assert at(FOREVER).do(call(int)).end().run(PLAIN) == 0
    program = at(FOREVER).retry(ask) >> at(N0).do(Ask("b"))
    assert program.run(Virtual(Ask.handled_by(answers(NotReady(), 1, 2))).interpreter) == 2


def test_a_plan_says_that_it_goes_on_until_it_is_well() -> None:
    known = plan(at(FOREVER).retry(ask))
    assert (known.tries, known.wait_count, known.seconds) == (inf, inf, inf)
    assert str(known).splitlines()[-2:] == [
        "N1        1      524288 s  failed",
        "and so on, until it succeeds",
    ]
    assert len(known.rungs) == 20


def test_a_plan_of_a_ladder_without_end_that_is_left_at_once_is_finite() -> None:
    known = plan(at(FOREVER).do(ask).end())
    assert (known.tries, known.wait_count) == (1, 0)


untyped_at: Any = at
REFUSED: dict[str, Any] = {
    "backoff": lambda: untyped_at(FOREVER).do(ask).backoff(),
    "wait": lambda: untyped_at(FOREVER).wait(),
    "skip": lambda: untyped_at(FOREVER).skip(),
    "a join to a ladder": lambda: untyped_at(FOREVER) >> at(N20),
    "a join from a ladder": lambda: untyped_at(N20) >> untyped_at(FOREVER),
    "another ladder instead": lambda: untyped_at(FOREVER).do(ask) | at(N3).retry(ask),
    "a run": lambda: untyped_at(FOREVER).do(ask).run(PLAIN),
    "a bind that goes elsewhere": lambda: (
        untyped_at(FOREVER).bind(lambda _: at(N3).retry(ask)).run(well_after(0).interpreter)
    ),
}


@pytest.mark.parametrize("wrong", REFUSED.values(), ids=REFUSED)
def test_nothing_else_leaves_it(wrong: Any) -> None:
    with pytest.raises(Misuse, match="FOREVER"):
        wrong()


def test_it_has_no_number() -> None:
    with pytest.raises(TypeError, match="FOREVER has no number"):
        reflect(FOREVER)


def test_a_try_that_takes_too_long_may_be_tried_for_ever() -> None:
    world = Virtual(Ask.handled_by(answers(*[DeadlineExceeded()] * 21, 7)))
    assert at(FOREVER).retry(ask).run(world.interpreter) == 7
