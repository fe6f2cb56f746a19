"""`on=` may answer with seconds: yes, and not before that."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import timedelta
from math import inf, nan
from typing import Any

import pytest

from ixbackoff import (
    N2,
    N3,
    Call,
    Misuse,
    NotReady,
    Throttled,
    at,
    backoff,
    call,
    plan,
)
from ixbackoff.fleet import instantly, simulate
from ixbackoff.testing import Virtual, always, answers, no_waits

from ..support.ids import shown


def function(on: Any, *failures: Exception) -> list[float]:
    left = iter(failures)

    @backoff(N3, on=on)
    def ask() -> str:
        for failure in left:
            raise failure
        return "page"

    with no_waits() as waits:
        assert ask() == "page"
    return waits.waited


def program(on: Any, *failures: Exception) -> list[float]:
    world = Virtual(Call.handled_by(answers(*failures, "page")))
    assert at(N3).retry(call(print), on=on).run(world.interpreter) == "page"
    return world.waits


def steps(on: Any, *failures: Exception) -> list[float]:
    world = Virtual(Call.handled_by(answers(*failures, "page")))
    made: Any = at(N3).do(call(print))
    for _ in failures:
        made = made.backoff(on=on).or_else(call(print), on=Exception)
    assert made.end().run(world.interpreter) == "page"
    return world.waits


Way = Callable[..., list[float]]
each_way = pytest.mark.parametrize("way", [function, program, steps], ids=shown)


@each_way
@pytest.mark.parametrize(
    ("answer", "waits"),
    [
        (True, [1, 2]),
        (7.5, [7.5, 7.5]),
        (1.5, [1.5, 2]),
        (0, [1, 2]),
        (0.0, [1, 2]),
        (timedelta(seconds=3), [3, 3]),
    ],
    ids=repr,
)
def test_the_next_wait_takes_at_least_so_long(way: Way, answer: Any, waits: list[float]) -> None:
    assert way(lambda _: answer, KeyError(1), KeyError(2)) == waits
    assert way([OSError, lambda _: answer], KeyError(1), KeyError(2)) == waits


@each_way
def test_the_service_and_the_wait_before_are_heard_too(way: Way) -> None:
    seconds = iter([5.0, 2.0, 0.5])
    assert way(lambda _: next(seconds), KeyError(), Throttled(6), KeyError()) == [5, 6, 6]


@pytest.mark.parametrize("way", [function, program], ids=shown)  # .or_else is after the error
@pytest.mark.parametrize("answer", [-1, -0.5, nan, inf, timedelta(days=-1)], ids=repr)
def test_seconds_are_0_or_more(way: Way, answer: Any) -> None:
    with pytest.raises(ValueError, match="give seconds, 0 or more"):
        way(lambda _: answer, KeyError(1))


@each_way
@pytest.mark.parametrize("answer", [None, "yes", [], object], ids=repr)
def test_anything_else_is_a_mistake(way: Way, answer: Any) -> None:
    with pytest.raises(Misuse, match="return a bool, or the seconds"):
        way(lambda _: answer, KeyError(1))


def test_clients_of_a_fleet_wait_so_long() -> None:
    asked = at(N2).retry(call(print), on=lambda _: 30.0)
    service = instantly(Call.handled_by(always(KeyError())))
    done = simulate(asked, service, clients=1, seconds=100, think=1, trace=True)
    begun = [one.at for one in done.trace if isinstance(one.command, Call)]
    assert begun[1] - begun[0] == pytest.approx(30) == begun[2] - begun[1]


def passes(_: Exception) -> float:
    return 4.0


def test_a_program_with_on_can_be_pickled() -> None:
    kinds: list[Any] = [KeyError, passes, [KeyError, passes]]
    for on in kinds:
        made = at(N2).retry(call(pow, 2, 5), on=on)
        assert plan(pickle.loads(pickle.dumps(made))) == plan(made)  # noqa: S301  our own


def test_in_or_else_seconds_are_yes() -> None:
    world = Virtual(Call.handled_by(answers(NotReady(), "other")))
    other = at(N2).do(call(print)).or_else(call(print), on=lambda _: 0.0).end()
    assert other.run(world.interpreter) == "other"
