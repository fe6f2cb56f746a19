"""Schedules are values (equal, immutable, shared), draw random numbers, and refuse bad input."""

from __future__ import annotations

import asyncio
import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import inf
from random import Random
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ixbackoff
from ixbackoff import (
    N2,
    N3,
    Computed,
    Constant,
    Exponential,
    Fibonacci,
    Listed,
    Misuse,
    NotReady,
    Schedule,
    at,
    backoff,
    plan,
)
from ixbackoff._words.equality_by_fields import fields_of
from ixbackoff.schedules import Chance, Timing, WaitFunction
from ixbackoff.schedules.algebra import Jittered, Longer, Scaled, Seeded, Shorter, Sum
from ixbackoff.schedules.kinds import powers_of_two
from ixbackoff.schedules.published import (
    NormalJitter,
    WholeSeconds,
    aws_polling,
    fault_tolerant_shell,
    post_blue,
    post_green,
    thain,
)
from ixbackoff.schedules.shortening_jitter import (
    DecorrelatedJitter,
    EqualJitter,
    Every,
    FullJitter,
    RawNormalJitter,
)
from ixbackoff.testing import Virtual, always, answers

from ..support.generators.random_schedules import Erratic, Shrinking, random_schedule
from ..support.ids import shown
from ..support.ways.programs import Ask

untyped: Any = ixbackoff
ask = Ask("a")


def squares(k: int) -> float:
    return (k + 1) ** 2


SERIES: list[tuple[Schedule, list[float]]] = [
    (powers_of_two, [1, 2, 4, 8, 16, 32]),
    (Exponential(0.5, 3, cap=10), [0.5, 1.5, 4.5, 10, 10, 10]),
    (Constant(2.5), [2.5] * 6),
    (Fibonacci(2), [2, 2, 4, 6, 10, 16]),
    (Listed([1, 5, 5, 30]), [1, 5, 5, 30, 30, 30]),
    (Computed(squares), [1, 4, 9, 16, 25, 36]),
    (Computed(lambda k: 9.0 - k), [9] * 6),
    (powers_of_two | Constant(5), [5, 5, 5, 8, 16, 32]),
    (powers_of_two & Constant(5), [1, 2, 4, 5, 5, 5]),
    (powers_of_two + Fibonacci(), [2, 3, 6, 11, 21, 40]),
    (0.5 * powers_of_two, [0.5, 1, 2, 4, 8, 16]),
    (WholeSeconds(0.3 * powers_of_two), [0, 0, 1, 2, 4, 9]),
    (WholeSeconds(Shrinking(8)), [8] * 6),
    (WholeSeconds(Computed(lambda k: inf)) & Constant(3), [3] * 6),
    (Shrinking(8) & Constant(3), [3] * 6),
]


@pytest.mark.parametrize(("schedule", "waits"), SERIES, ids=lambda one: shown(one)[:60])
def test_a_schedule_is_its_series(schedule: Schedule, waits: list[float]) -> None:
    assert schedule.preview(6) == pytest.approx(waits, rel=1e-9)
    if not isinstance(schedule, WholeSeconds | Shorter):
        assert schedule.deterministic
        assert [schedule.longest(k) for k in range(6)] == pytest.approx(waits, rel=1e-9)


def test_a_program_waits_as_its_schedule_says() -> None:
    for schedule, waits in SERIES:
        world = Virtual(Ask.handled_by(always(NotReady())))
        with pytest.raises(NotReady):
            at(N3).retry(ask).run(world.interpreter, schedule=schedule)
        assert world.waits == pytest.approx(waits[:3])


VALUES: list[Timing] = [
    *(schedule for schedule, _ in SERIES),
    powers_of_two.jittered(1.5),
    (2 * powers_of_two.jittered() | Constant(3)).seeded(4),
    thain(0.01, 1),
    fault_tolerant_shell,
    post_blue,
    FullJitter(),
    EqualJitter(cap=3),
    DecorrelatedJitter(base=0.1),
    RawNormalJitter(post_green),
    Every(3),
]


@pytest.mark.parametrize("timing", VALUES, ids=shown)
def test_a_timing_is_a_value(timing: Timing) -> None:
    for same in (copy.copy(timing), copy.deepcopy(timing)):
        assert same == timing
        assert hash(same) == hash(timing)
        assert repr(same) == repr(timing)
    assert [other for other in VALUES if other == timing] == [timing]
    assert len(set(VALUES)) == len(VALUES)
    assert timing != repr(timing)


@pytest.mark.parametrize("timing", VALUES, ids=shown)
def test_a_timing_does_not_change(timing: Timing) -> None:
    names = list(fields_of(timing))
    changed: Any = timing
    for name in names:
        with pytest.raises(AttributeError, match="is immutable"):
            setattr(changed, name, 0.0)
        with pytest.raises(AttributeError, match="is immutable"):
            delattr(changed, name)
    if not isinstance(timing, Shrinking) and "Shrinking" not in repr(timing):
        with pytest.raises(AttributeError):
            changed.anything = 1


NAMES = {
    kind.__name__: kind
    for kind in (
        Exponential, Constant, Fibonacci, Listed, NormalJitter, WholeSeconds, FullJitter,
        EqualJitter, DecorrelatedJitter, RawNormalJitter, Every, Shrinking, Erratic,
    )
}  # fmt: skip


@pytest.mark.parametrize("timing", VALUES, ids=shown)
def test_a_timing_is_written_as_it_is_made(timing: Timing) -> None:
    if "Computed" not in repr(timing):
        assert eval(repr(timing), NAMES.copy()) == timing  # noqa: S307


@given(st.builds(random_schedule, st.builds(Random, st.integers(0, 2**32))))
def test_any_schedule_is_written_as_it_is_made(schedule: Schedule) -> None:
    if "Computed" not in repr(schedule):
        assert eval(repr(schedule), NAMES.copy()) == schedule  # noqa: S307
        assert pickle.loads(pickle.dumps(schedule)) == schedule  # noqa: S301


def test_equal_numbers_make_equal_schedules() -> None:
    assert Exponential(1, 2) == Exponential(1.0, 2.0) == powers_of_two
    assert hash(Constant(2)) == hash(Constant(2.0))
    assert Constant(1) != Listed([1])
    assert 2 * powers_of_two == powers_of_two * 2
    assert powers_of_two | Constant(1) != Constant(1) | powers_of_two  # the same waits, otherwise
    assert Shrinking(1) != Shrinking(2)
    assert Computed(squares) == Computed(squares) != Computed(lambda k: k)


@dataclass(frozen=True)
class Polynomial(Schedule):
    """A custom schedule, as a dataclass."""

    degree: int

    def begin(self, chance: Chance | None = None) -> WaitFunction:  # noqa: ARG002
        return lambda k: (k + 1.0) ** self.degree


def test_a_schedule_of_ones_own() -> None:
    cubes = Polynomial(3)
    assert cubes == Polynomial(3) != Polynomial(2)
    assert (cubes & Constant(20)).preview(4) == [1, 8, 20, 20]
    assert repr(cubes & Constant(20)) == "(Polynomial(degree=3) & Constant(every=20.0))"
    assert cubes.longest(2) == inf  # unless it says otherwise
    assert plan(at(N2).retry(ask), cubes & Constant(20)).seconds == 40
    with pytest.raises(TypeError, match=r"abstract class '?Schedule"):
        untyped.Schedule()


class Private(Schedule):
    """A custom schedule with one attribute, which is private to its class."""

    __slots__ = ("__every",)

    def __init__(self, every: float) -> None:
        self.__every = every

    def begin(self, chance: Chance | None = None) -> WaitFunction:  # noqa: ARG002
        return lambda k: self.__every

    def change(self) -> None:
        self.__every = 0.0


def test_what_is_private_belongs_to_the_value_too() -> None:
    assert Private(1) == Private(1) != Private(2)
    with pytest.raises(AttributeError, match="is immutable"):
        Private(1).change()


class Certain(Shrinking):
    """A custom schedule that breaks the promise without random numbers."""

    @property
    def deterministic(self) -> bool:
        return True


@pytest.mark.parametrize(
    "schedule", [Certain(9), Certain(9) + Listed([1, 5]), Certain(9) & Listed([4, 5])], ids=repr
)
def test_what_breaks_the_promise_is_planned_as_it_is_waited(schedule: Schedule) -> None:
    world = Virtual(Ask.handled_by(always(NotReady())))
    with pytest.raises(NotReady):
        at(N3).retry(ask).run(world.interpreter, schedule=schedule)
    assert world.waits == schedule.preview(3) == [schedule.longest(k) for k in range(3)]
    assert sum(world.waits) == plan(at(N3).retry(ask), schedule).seconds


def test_no_wait_at_all_is_so_also_of_what_has_no_end() -> None:
    assert (0 * Computed(lambda k: inf)).preview(2) == [0, 0]


def test_a_plan_of_what_nothing_bounds_says_so() -> None:
    assert str(plan(at(N2).retry(ask), post_blue)).splitlines() == [
        "rung  tries    then waits  if",
        "N2        1         inf s  failed",
        "N1        1         inf s  failed",
        "N0        1             -",
        "at most 3 tries, 2 waits, inf s",
    ]


def test_a_schedule_that_may_draw_forever_has_no_end_of_numbers() -> None:
    for k in (1_000, 5_000):
        assert Exponential(cap=30).begin()(k) == 30
        assert (Fibonacci() & Constant(30)).begin()(k) == 30
        assert (Exponential().jittered() & Constant(30)).begin()(k) == 30
        assert FullJitter().expo(k) == 2
        assert post_blue.begin(Random(1))(k) > 300  # noqa: S311


def test_one_schedule_is_shared_by_threads_and_tasks() -> None:
    schedule = (fault_tolerant_shell | post_green).seeded(3)
    alone = schedule.preview(20)

    def waits(_: int) -> list[float]:
        return schedule.preview(20)

    with ThreadPoolExecutor(16) as threads:
        assert all(run == alone for run in threads.map(waits, range(500)))

    async def in_a_task() -> list[float]:
        run, seconds = schedule.begin(), []
        for k in range(20):
            await asyncio.sleep(0)
            seconds.append(run(k))
        return seconds

    async def in_tasks() -> list[list[float]]:
        return await asyncio.gather(*(in_a_task() for _ in range(50)))

    assert all(run == alone for run in asyncio.run(in_tasks()))


def test_without_a_seed_runs_differ() -> None:
    runs = {tuple(powers_of_two.jittered().preview(3)) for _ in range(20)}
    assert len(runs) == 20


def python(code: str) -> str:
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_what_is_certain_never_imports_random() -> None:
    assert python(
        "import sys; from ixbackoff import Constant, Exponential, N2, at, call, plan\n"
        "from ixbackoff.schedules.kinds import powers_of_two as two\n"
        "schedule = (2 * two | Constant(3)) & two + Constant(1)\n"
        "schedule.preview(5), schedule.seeded(1).preview(5)\n"
        "plan(at(N2).retry(call(int)), schedule)\n"
        "print('random' in sys.modules)\n"
    ) == "False\n"  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform cannot fork")
def test_a_forked_process_waits_otherwise() -> None:
    told = python(
        "import os; from ixbackoff.schedules.kinds import powers_of_two as two\n"
        "schedule = two.jittered(); schedule.preview(1); run = schedule.begin()\n"
        "child = os.fork()\n"
        "os.write(1, f'{run(0)} {schedule.begin()(1)}\\n'.encode())\n"
        "os._exit(0) if not child else os.waitpid(child, 0)\n"
    )
    assert len(set(told.split())) == 4


TIMINGS: list[Any] = [
    FullJitter(), EqualJitter(), DecorrelatedJitter(), RawNormalJitter(post_blue), Every(1),
]  # fmt: skip


@pytest.mark.parametrize("timing", TIMINGS, ids=repr)
def test_what_shortens_is_refused_before_anything_is_done(timing: Any) -> None:
    world = Virtual(Ask.handled_by(answers()))
    program: Any = at(N3).retry(ask)
    refusals: list[Callable[[], object]] = [
        lambda: program.run(world.interpreter, schedule=timing),
        lambda: asyncio.run(program.run_async(world.interpreter, schedule=timing)),
        lambda: untyped.plan(program, timing),
        lambda: untyped.backoff(N3, schedule=timing),
    ]
    for refused in refusals:
        with pytest.raises(Misuse, match=r"is not a Schedule: .*; the waits .* can get shorter"):
            refused()
    assert world.trace == []


@pytest.mark.parametrize("timing", TIMINGS, ids=repr)
@pytest.mark.parametrize("other", [powers_of_two, FullJitter(base=0.1), 2])
def test_what_shortens_is_not_combined(timing: Any, other: Any) -> None:
    combinations: list[Callable[[Any, Any], object]] = [
        lambda a, b: a | b,
        lambda a, b: a & b,
        lambda a, b: a + b,
    ]
    if other != powers_of_two:
        combinations.append(lambda a, b: a * b)
    for combined in combinations:
        with pytest.raises(TypeError, match="unsupported operand"):
            combined(timing, other)
        with pytest.raises(TypeError, match="unsupported operand"):
            combined(other, timing)
    with pytest.raises(TypeError, match="give a Schedule"):
        WholeSeconds(timing)


def test_a_function_is_refused_with_what_makes_a_schedule_of_it() -> None:
    world = Virtual(Ask.handled_by(answers()))
    program: Any = at(N3).retry(ask)
    refusals: list[Callable[[], object]] = [
        lambda: program.run(world.interpreter, schedule=squares),
        lambda: untyped.plan(program, squares),
        lambda: untyped.backoff(N3, schedule=squares),
    ]
    for refused in refusals:
        with pytest.raises(Misuse, match=r"such as Computed\(function\)"):
            refused()
    assert backoff(N3, schedule=Computed(squares))._settings.schedule == Computed(squares)


two: Any = powers_of_two
REFUSED: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "a wait below 0": (lambda: Constant(-1), ValueError, r"Constant\(-1\): give seconds"),
    "a wait without end": (lambda: Constant(inf), ValueError, "give seconds"),
    "a text": (lambda: untyped.Constant("1"), ValueError, r"Constant\('1'\): give seconds"),
    "a huge int": (lambda: Constant(10**400), ValueError, "give seconds"),
    "no first Fibonacci": (lambda: Fibonacci(0), ValueError, r"\(0\): give seconds above 0"),
    "a huge Fibonacci": (lambda: Fibonacci(1e305), ValueError, "below 8e303"),
    "an empty list": (lambda: Listed([]), ValueError, "at least one number"),
    "a shorter wait": (
        lambda: Listed([1, 3, 2]),
        ValueError,
        r"Listed\(\[1, 3, 2\]\): a wait is never shorter than the one before: "
        r"sort them, and write Listed\(\[1, 2, 3\]\)\.",
    ),
    "a list of texts": (lambda: untyped.Listed("123"), ValueError, "seconds, each 0 or more"),
    "no list": (lambda: untyped.Listed(5), TypeError, r"Listed\(5\): give a list"),
    "no function": (lambda: untyped.Computed(5), TypeError, r"Computed\(5\): give a function"),
    "a negative factor": (lambda: -1 * powers_of_two, ValueError, "-1 times a schedule: give"),
    "a schedule as a factor": (lambda: two * two, ValueError, "times a schedule: give"),
    "nan as a factor": (lambda: float("nan") * two, ValueError, "nan times a schedule"),
    "half a spread": (lambda: two.jittered(0.5), ValueError, r"jittered\(0.5\): give a spread"),
    "a text as a spread": (lambda: two.jittered("2"), ValueError, r"jittered\('2'\)"),
    "a seed from outside": (lambda: two.seeded(None), ValueError, r"seeded\(None\): give a whole"),
    "fewer than no waits": (lambda: two.preview(-1), ValueError, r"preview\(-1\): give a number"),
    "texts for seconds": (lambda: Broken("x").preview(1), ValueError, "gave 'x' for wait 0"),
    "computed texts": (lambda: untyped.Computed(str).preview(1), ValueError, r"Computed\(.*'0'"),
    "a number": (lambda: two | 5, TypeError, "unsupported operand"),
    "a function": (lambda: two & squares, TypeError, "unsupported operand"),
    "a program": (lambda: two + at(N3), TypeError, "unsupported operand"),
    "whole seconds of a number": (lambda: cast("Any", WholeSeconds)(5), TypeError, "Schedule"),
    "too low a cap for AWS": (lambda: aws_polling(0.05), ValueError, "cap=0.05: give at least"),
    "no time-out": (lambda: thain(0, 1), ValueError, "base=0: give seconds"),
    "a falling factor": (lambda: thain(1, 1, 0.5), ValueError, "factor=0.5: give 1"),
    "a negative maximum": (lambda: thain(1, -1), ValueError, "-1"),
    "no maximum": (lambda: thain(1, inf), ValueError, "give seconds"),
    "no first wait": (lambda: NormalJitter(0, 2, 0.1, 5), ValueError, "min_delay=0: give seconds"),
    "a first text": (lambda: cast("Any", NormalJitter)("1", 2, 0, 5), ValueError, "min_delay"),
    "a normal fall": (lambda: NormalJitter(1, 0.5, 0.1, 5), ValueError, "factor=0.5: give 1"),
    "less than no jitter": (lambda: NormalJitter(1, 2, -0.1, 5), ValueError, "jitter=-0.1: give"),
    "a cap below": (lambda: NormalJitter(1, 2, 0.1, 0.5), ValueError, "max_delay=0.5: give"),
    "no cap": (lambda: NormalJitter(1, 2, 0.1, inf), ValueError, "max_delay=inf: give"),
    "no base": (lambda: FullJitter(base=0), ValueError, "base=0: give seconds"),
    "a cap below the base": (lambda: EqualJitter(1, 0.5), ValueError, "cap=0.5: give at least"),
    "every nothing": (lambda: Every(-1), ValueError, r"Every\(-1\): give seconds"),
    "a raw schedule": (lambda: cast("Any", RawNormalJitter)(two), TypeError, "NormalJitter"),
}  # fmt: skip


@pytest.mark.parametrize(("made", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_bad_input_gets_one_clear_error(
    made: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        made()


class Broken(Schedule):
    """A custom schedule that does not give seconds."""

    def __init__(self, seconds: Any) -> None:
        self.seconds = seconds

    def begin(self, chance: Chance | None = None) -> WaitFunction:  # noqa: ARG002
        seconds: Any = self.seconds
        return lambda k: seconds


@pytest.mark.parametrize("seconds", [-1, float("nan"), "1", None, 10**400, 1j], ids=repr)
def test_a_schedule_that_gives_no_seconds_is_told_so_when_the_wait_is_due(seconds: Any) -> None:
    broken = Broken(seconds)
    for schedule in (
        broken,
        broken | Constant(1),
        broken + broken,
        2 * broken,
        broken.jittered(),
        broken.seeded(1),
        WholeSeconds(broken & Constant(1)),
        Computed(lambda k: seconds),
    ):
        world = Virtual(Ask.handled_by(always(NotReady())))
        with pytest.raises(ValueError, match=r"gave .* for wait 0: it has to give a finite number"):
            at(N3).retry(ask).run(world.interpreter, schedule=schedule)
        assert len(world.commands) == 1


def test_waits_without_end_are_refused_when_due_unless_something_is_shorter() -> None:
    endless = Broken(inf)
    world = Virtual(Ask.handled_by(always(NotReady())))
    with pytest.raises(ValueError, match="gave inf for wait 0"):
        at(N3).retry(ask).run(world.interpreter, schedule=endless + Constant(1))
    with pytest.raises(NotReady):
        at(N3).retry(ask).run(world.interpreter, schedule=endless & Constant(1))
    assert world.waits == [1, 1, 1]


def test_each_operator_makes_its_own_kind() -> None:
    a, b = powers_of_two, Constant(1)
    kinds = [type(made) for made in (a | b, a & b, a + b, a * 2, a.jittered(), a.seeded(1))]
    assert kinds == [Longer, Shorter, Sum, Scaled, Jittered, Seeded]
