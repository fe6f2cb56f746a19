"""The arguments of `simulate`: services that serve kinds, outages, and bad input."""

from __future__ import annotations

from typing import Any

import pytest

from ixbackoff import N0, N1, N3, Command, Constant, Do, Misuse, RetryBudget, all_of, at, attempt
from ixbackoff.fleet import BoundedQueue, Outage, instantly, simulate

from ..support.fleets.scripted import (
    FAILS,
    Script,
    Scripted,
    fleet,
    in_a_row,
    without_the_short_cut,
)
from ..support.ways.programs import Ask


def test_a_service_that_serves_a_kind_serves_the_kinds_of_it() -> None:
    model = Scripted([[(0.5, 1)]])
    for effect in (Ask("a"), in_a_row(["a"])):
        outcome = simulate(
            at(N0).retry(effect), model.serves(Command), clients=1, seconds=9, trace=True
        )
        assert outcome.total(lambda each: each.answered) == 1


def test_equal_services_are_not_one() -> None:
    class Other(Ask):
        __slots__ = ()

    one, other = BoundedQueue(length=1, work=1.0), BoundedQueue(length=1, work=1.0)
    program = at(N0).do(all_of([Ask("a"), Other("b")])).end()
    apart = simulate(program, one.serves(Ask) | other.serves(Other), clients=1, seconds=9)
    same = simulate(program, one.serves(Ask) | one.serves(Other), clients=1, seconds=9)
    assert (apart.ended, same.ended) == (1.0, 2.0)


QUEUE = BoundedQueue(length=5, work=0.1).serves(Ask)
RETRY = at(N1).retry(Ask("a"))


class Unserved(Command[None]):
    __slots__ = ()


@attempt
def unserved() -> Do[Any, None]:
    yield from Unserved()


BAD: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no clients": ({"clients": 0}, ValueError, "clients=0: give a number, 1 or more"),
    "fewer than none": ({"clients": -1}, ValueError, "clients=-1"),
    "half a client": ({"clients": 1.5}, ValueError, "clients=1.5"),
    "negative seconds": ({"seconds": -1}, ValueError, "seconds=-1: give a finite number"),
    "no seconds": ({"seconds": None}, ValueError, "seconds=None"),
    "seconds that are none": ({"seconds": float("nan")}, ValueError, "seconds=nan"),
    "for ever": ({"seconds": float("inf")}, ValueError, "seconds=inf"),
    "no thinking": ({"think": 0}, ValueError, "think=0"),
    "a within that is none": ({"within": "2"}, ValueError, "within='2': give a finite number"),
    "a seed of chance": ({"seed": None}, ValueError, "seed=None: give a whole number"),
    "outages of pairs": ({"outages": [(1, 2)]}, Misuse, r"give a list of Outage\(start, length\)"),
    "one outage": ({"outages": Outage(1, 2)}, Misuse, r"outages=\[1, 2, 1.0\]: give a list"),
    "an outage that is too long": (
        {"outages": [Outage(5, 6)]},
        ValueError,
        r"Outage\(start=5, length=6, lost=1.0\) is not within",
    ),
    "an outage before": ({"outages": [Outage(-1, 6)]}, ValueError, "is not within the 10 s"),
    "an outage of no time": ({"outages": [Outage(1, 0)]}, ValueError, "is not within"),
    "an outage that is none": ({"outages": [Outage(float("nan"), 1)]}, ValueError, "not within"),
    "overlapping outages": (
        {"outages": [Outage(3, 2), Outage(1, 3)]}, ValueError, "begins during an earlier outage"),
    "a service that cannot stop": (
        {"services": Scripted([[(1.0, 1)]]).serves(Ask), "outages": [Outage(1, 1)]},
        Misuse, "ScriptedServing cannot stop"),
    "nothing that could stop": (
        {"services": instantly(Ask.handled_by(lambda _: 1)), "outages": [Outage(1, 1)]},
        Misuse, "no service that could stop"),
    "a retry that nothing serves": (
        {"program": at(N1).retry(Unserved())}, Misuse, "No service serves Unserved: join one"),
    "a command that nothing serves": (
        {"program": at(N1).retry(unserved())}, Misuse, "No service serves Unserved: join one"),
    "an open program": ({"program": at(N1)}, Misuse, "it ends at N1"),
    "no program": ({"program": Ask("a")}, Misuse, "is not a program"),
    "a function of no program": (
        {"program": lambda _: Ask("a")}, Misuse, r"Ask\(name='a'\) is not a program"),
    "a schedule that is none": ({"schedule": 3}, Misuse, "schedule=3 is not a Timing"),
    "a service without a kind": (
        {"services": BoundedQueue(1, 1.0)}, Misuse, "say what they serve, with service.serves"),
    "a budget that is none": (
        {"budget": RetryBudget(3)}, Misuse, "give a function from the number"),
    "a budget that makes none": ({"budget": lambda _: 3}, Misuse, "budget= returned 3"),
}  # fmt: skip


@pytest.mark.parametrize(("how", "error", "words"), BAD.values(), ids=BAD)
def test_bad_input(how: dict[str, Any], error: type[Exception], words: str) -> None:
    given_all = {"program": RETRY, "services": QUEUE, "clients": 2, "seconds": 10, **how}
    with pytest.raises(error, match=words):
        simulate(given_all.pop("program"), given_all.pop("services"), **given_all)


@pytest.mark.parametrize("lean", [True, False])
def test_a_bug_of_a_service_is_no_failure_of_a_program(lean: bool) -> None:
    script: Script = [(0.5, 1), (-3.0, 1)]
    with without_the_short_cut(lean), pytest.raises(ValueError, match="give a later time"):
        fleet(at(N3).retry(Ask("a")), script, think=1.0)


@pytest.mark.parametrize("lean", [True, False])
def test_a_wait_that_is_longer_than_all_times(lean: bool) -> None:
    with without_the_short_cut(lean):
        outcome = fleet(at(N3).retry(Ask("a")), FAILS, schedule=Constant(1.5e308))
    assert (outcome.events, outcome.total(lambda second: second.asked)) == (1, 1)


def test_a_kind_is_served_once() -> None:
    with pytest.raises(Misuse, match="Two services serve Ask"):
        _ = QUEUE | BoundedQueue(length=1, work=1.0).serves(Ask)


def test_outages_that_touch_are_two() -> None:
    outages = [Outage(4, 2), Outage(2, 2)]
    queue = BoundedQueue(length=5, work=1.5).serves(Ask)
    outcome = simulate(
        at(N1).retry(Ask("a")), queue, clients=2, seconds=20, outages=outages, trace=True
    )
    assert [happened.at for happened in outcome.trace] == [0.0, 0.0]
    assert outcome.ended == 7.0  # 1.5 s, 0.5 s, four seconds of outage, 1 s


def test_a_queue_goes_on_where_it_stopped() -> None:
    queue = BoundedQueue(length=1, work=2.0, workers=2)
    outcome = simulate(
        at(N0).retry(Ask("a")),
        queue.serves(Ask),
        clients=4,
        seconds=20,
        outages=[Outage(0.5, 1.0), Outage(1.5, 4.0)],
        trace=True,
    )
    ended = [type(happened.failure).__name__ for happened in outcome.trace]
    assert ended == ["Throttled", "NoneType", "NoneType", "NoneType"]
    assert [each.answered for each in outcome.seconds if each.answered] == [2, 1]
    assert outcome.ended == 9.0
    assert outcome.seconds[0].load == 3.0


@pytest.mark.parametrize("how", [(-1, 1.0), (1, -1.0), (1, float("nan")), (1, 1.0, 0)])
def test_a_queue_that_cannot_be(how: Any) -> None:
    with pytest.raises(ValueError, match=r"give (a length|seconds)"):
        BoundedQueue(*how)
