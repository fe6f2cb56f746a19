"""Plans, number by number; no run exceeds its plan."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from math import inf
from typing import Any

import pytest

from ixbackoff import (
    FOREVER,
    N0,
    N1,
    N2,
    N3,
    N4,
    N20,
    Log,
    NotReady,
    Plan,
    Schedule,
    all_of,
    at,
    backoff,
    do,
    plan,
)
from ixbackoff._meaning import steps as all_steps
from ixbackoff._meaning.chains import Chain, Step, chain, longer
from ixbackoff._meaning.effect_costs import Commands, cost_of
from ixbackoff._meaning.planning import PlannedRung
from ixbackoff.schedules import Chance
from ixbackoff.testing import Virtual, always

from ..support.ways.programs import Ask

ask = Ask("a")


def asks(number: int, *uncounted: str) -> Commands:
    """Commands: so many of one kind, and those of these functions."""
    return Commands({Ask: number} if number else {}, frozenset(uncounted))


PLANS: dict[str, tuple[Any, Plan]] = {
    "both branches": (
        at(N2).do(ask).wait().do(ask).backoff().or_else(ask),
        Plan(
            (
                PlannedRung(2, 1, 1.0, "well"),
                PlannedRung(1, 1, 2.0, "failed", begins=1.0),
                PlannedRung(0, 1, None, "", begins=3.0),
            ),
            tries=3,
            wait_count=2,
            seconds=3.0,
            commands=asks(3),
        ),
    ),
    "one of two waits": (
        at(N2).do(ask).wait().backoff().or_else(ask),
        Plan(
            (
                PlannedRung(2, 1, 1.0, "well"),
                PlannedRung(1, 0, 2.0, "failed", takes=0.0, begins=1.0),
                PlannedRung(0, 1, None, "", begins=2.0),
            ),
            tries=2,
            wait_count=1,
            seconds=2.0,
            commands=asks(2),
        ),
    ),
    "several tries on a rung, and a function that may fail": (
        at(N1).do(ask).do(ask).map(lambda value: value).backoff().or_else(ask),
        Plan(
            (PlannedRung(1, 2, 1.0, "failed"), PlannedRung(0, 1, None, "", begins=1.0)),
            tries=3,
            wait_count=1,
            seconds=1.0,
            commands=asks(3),
        ),
    ),
    "only a function may fail": (
        at(N1).map(lambda value: value).backoff().or_else(ask),
        Plan(
            (PlannedRung(1, 0, 1.0, "failed", takes=0.0), PlannedRung(0, 1, None, "", begins=1.0)),
            tries=1,
            wait_count=1,
            seconds=1.0,
            commands=asks(1),
        ),
    ),
    "nothing may fail": (
        at(N1).backoff().or_else(ask),
        Plan(
            (PlannedRung(1, 0, None, "", takes=0.0), PlannedRung(0, 0, None, "", takes=0.0)),
            tries=0,
            wait_count=0,
            seconds=0.0,
            commands=asks(0),
            longest=0.0,
        ),
    ),
    "skipped": (
        at(N2).skip().retry(ask),
        Plan(
            (
                PlannedRung(2, 0, None, "", takes=0.0),
                PlannedRung(1, 1, 2.0, "failed"),
                PlannedRung(0, 1, None, "", begins=2.0),
            ),
            tries=2,
            wait_count=1,
            seconds=2.0,
            commands=asks(2),
        ),
    ),
    "a function's program, then a known one": (
        at(N2).bind(lambda _: at(N2).do(ask).wait()) >> at(N1).retry(ask),
        Plan(
            (
                PlannedRung(2, None, 1.0, "perhaps"),
                PlannedRung(1, None, 2.0, "failed", begins=1.0),
                PlannedRung(0, 1, None, "", begins=3.0),
            ),
            tries=None,
            wait_count=2,
            seconds=3.0,
            commands=asks(2, "<lambda>"),
        ),
    ),
    "limits": (
        at(N2).do(do(ask).limit(5)).backoff().or_else(do(ask).limit(2)).end(),
        Plan(
            (
                PlannedRung(2, 1, 1.0, "failed", takes=5.0),
                PlannedRung(1, 1, None, "", takes=2.0, begins=6.0),
                PlannedRung(0, 0, None, "", takes=0.0, begins=8.0),
            ),
            tries=2,
            wait_count=1,
            seconds=1.0,
            commands=asks(2),
            longest=8.0,
        ),
    ),
    "a program instead": (
        at(N2).do(ask).backoff() | at(N1).do(ask).backoff() | at(N0).do(ask),
        Plan(
            (
                PlannedRung(2, 1, 1.0, "failed"),
                PlannedRung(1, 1, 2.0, "failed", begins=1.0),
                PlannedRung(0, 1, None, "", begins=3.0),
            ),
            tries=3,
            wait_count=2,
            seconds=3.0,
            commands=asks(3),
        ),
    ),
}


@pytest.mark.parametrize(("program", "expected"), PLANS.values(), ids=PLANS)
def test_plan(program: Any, expected: Plan) -> None:
    assert plan(program) == expected


def test_a_try_that_only_the_run_tells_stays_so() -> None:
    three = at(N0).do(ask).do(ask).do(ask)
    assert plan(at(N0).bind(lambda _: three) >> at(N0).do(ask)).tries is None


def test_a_program_that_is_passed_over_still_brings_the_run_down() -> None:
    down = at(N4).skip().skip().or_bind(lambda _: at(N2))
    program = (at(N4) | down).retry(ask)
    world = Virtual(Ask.handled_by(always(NotReady())))
    with pytest.raises(NotReady):
        program.run(world.interpreter)
    assert world.waits == [4, 8]
    assert plan(program).wait_count == 2


def test_a_plan_prints_as_a_table() -> None:
    assert str(plan(at(N3).bind(lambda _: at(N3).retry(ask)))).splitlines() == [
        "rung  tries    then waits  if",
        "N3        ?           1 s  perhaps",
        "N2        ?           2 s  perhaps",
        "N1        ?           4 s  perhaps",
        "N0        ?             -",
        "at most as many tries as its functions decide, 3 waits, 7 s",
        "commands: those of <lambda>, known only at run time",
    ]


def test_a_plan_says_how_long_a_program_takes_in_all() -> None:
    asked = do(ask).limit(2)
    assert plan(at(N2).retry(asked)).longest == 3 + 3 * 2
    assert plan(at(N2).retry(ask)).longest is None
    assert plan(at(N2).retry(ask), each=4).longest == 3 + 3 * 4
    assert plan(at(N2).retry(asked), each=4).longest == 3 + 3 * 2
    several = all_of(do(ask).limit(5), do(ask).limit(2))
    assert plan(at(N0).do(several)).longest == 5
    made = at(N2).then(lambda _: asked).backoff().or_else(asked).end()
    assert plan(made).longest is None
    assert plan(made, each=4).longest == 4 + 1 + 2
    assert plan(at(N2).do(ask).wait().retry(Log("done"))).longest is None
    assert plan(at(N2).do(Log("first")).wait().retry(Log("done"))).longest == 3


def test_only_the_run_tells_how_long_a_function_of_bind_takes() -> None:
    known = plan(at(N2).bind(lambda _: at(N2).end()), each=1)
    assert known.longest is None
    assert [rung.takes for rung in known.rungs] == [None, None, None]


def test_a_program_without_end_takes_for_ever_but_for_its_deadline() -> None:
    assert plan(at(FOREVER).retry(do(ask).limit(2))).longest == inf
    assert plan(backoff(FOREVER, within=30)(print)).longest == 30
    bound = at(FOREVER).do(ask).bind(lambda _: at(FOREVER).do(ask).end())
    assert plan(bound).longest == inf
    assert plan(backoff(N20, within=timedelta(minutes=1))(print)).longest == 60
    assert plan(backoff(N1, within=60)(print), each=2).longest == 1 + 2 * 2


def test_a_plan_prints_the_time_in_all_where_it_is_known() -> None:
    assert str(plan(at(N2).retry(do(ask).limit(5)))).endswith(
        "at most 3 tries, 2 waits, 3 s; 18 s in all"
    )


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf"), "1"])
def test_the_seconds_of_a_try_are_a_number(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"each=.*: give a number of seconds, 0 or more\."):
        plan(at(N2).retry(ask), each=wrong)


def test_a_function_of_bind_may_stay_on_its_rung() -> None:
    joined = at(N1).bind(lambda _: at(N1).do(Log("stays"))) >> at(N1).do(ask).end()
    assert plan(joined).commands.kinds == {Ask: 1}


class Falls(Schedule):
    """A schedule that falls, as its own bound does."""

    __slots__ = ()

    def begin(self, chance: Chance | None = None) -> Callable[[int], float]:  # noqa: ARG002
        return self.longest

    def longest(self, k: int) -> float:
        return float(8 >> k)


def test_a_plan_counts_on_the_floor_of_a_run() -> None:
    world = Virtual(Ask.handled_by(always(NotReady())))
    with pytest.raises(NotReady):
        at(N3).retry(ask).run(world.interpreter, schedule=Falls())
    assert plan(at(N3).retry(ask), Falls()).seconds == sum(world.waits) == 24


class NapStep(Step):
    """A step of a program that has no parts, and takes its time."""

    __slots__ = ()
    may_wait = True


class TwiceStep(Step):
    """A step of an attempt that does not say what its parts are."""

    __slots__ = ("effect",)

    def __init__(self, effect: Any) -> None:
        self.effect = effect


def test_a_step_that_a_plan_does_not_know_is_not_left_out() -> None:
    program: Any = at(N1).do(ask)
    with pytest.raises(NotImplementedError, match="does not know what NapStep does"):
        plan(longer(type(program), program, NapStep()))


def test_what_a_step_of_an_attempt_holds_is_counted() -> None:
    attempt = chain(Chain, None, TwiceStep(ask))
    assert cost_of(attempt) == cost_of(ask)
    assert plan(at(N0).do(chain(type(do(ask)), None, TwiceStep(ask)))).commands == asks(1)


def test_no_step_holds_an_effect_that_is_not_among_its_parts() -> None:
    """What a step holds is an effect, or a function that makes one, by its name."""
    kinds = [kind for kind in vars(all_steps).values() if isinstance(kind, type)]
    slots = {
        name for kind in kinds if issubclass(kind, Step) for name in kind.__dict__["__slots__"]
    }
    of_a_bind = {"known"}
    of_a_first = {"effects", "pick"}
    without_effects = {"arguments", "keywords", "fresh", "chosen", "rung", "answered", "start_at"}
    computed = {"start", "end", "unknown", "defaults", "may_wait"}
    with_effects = {"effect", "function"} | of_a_bind | of_a_first
    assert slots == with_effects | without_effects | computed
