"""The laws of the algebra, and its promise: no schedule that can be written shortens a wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import accumulate, pairwise
from math import inf
from random import Random
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import N8, Constant, Exponential, NotReady, Schedule, Throttled, at, plan
from ixbackoff.schedules.published import post_blue
from ixbackoff.schedules.shortening_jitter import Shortening
from ixbackoff.testing import Virtual, always, answers

from ..support.generators.random_schedules import (
    Erratic,
    Shrinking,
    parts,
    random_deterministic,
    random_schedule,
)
from ..support.ways.programs import Ask

SCHEDULES = 10_000
RUNS = 2_000
"""The schedules that are run: a run takes only waits of them, and those are tried of all."""

WAITS = 8

Same: TypeAlias = tuple[Schedule, Schedule]


class Lattice:
    """Laws of `|` and `&`: they are a distributive lattice, wait by wait."""

    @staticmethod
    def longer_is_commutative(a: Schedule, b: Schedule) -> Same:
        return a | b, b | a

    @staticmethod
    def shorter_is_commutative(a: Schedule, b: Schedule) -> Same:
        return a & b, b & a

    @staticmethod
    def longer_is_associative(a: Schedule, b: Schedule, c: Schedule) -> Same:
        return (a | b) | c, a | (b | c)

    @staticmethod
    def shorter_is_associative(a: Schedule, b: Schedule, c: Schedule) -> Same:
        return (a & b) & c, a & (b & c)

    @staticmethod
    def longer_is_idempotent(a: Schedule) -> Same:
        return a | a, a

    @staticmethod
    def shorter_is_idempotent(a: Schedule) -> Same:
        return a & a, a

    @staticmethod
    def longer_absorbs(a: Schedule, b: Schedule) -> Same:
        return a | (a & b), a

    @staticmethod
    def shorter_absorbs(a: Schedule, b: Schedule) -> Same:
        return a & (a | b), a

    @staticmethod
    def longer_distributes(a: Schedule, b: Schedule, c: Schedule) -> Same:
        return a | (b & c), (a | b) & (a | c)

    @staticmethod
    def shorter_distributes(a: Schedule, b: Schedule, c: Schedule) -> Same:
        return a & (b | c), (a & b) | (a & c)

    @staticmethod
    def nothing_is_the_unit_of_longer(a: Schedule) -> Same:
        return a | Constant(0), a

    @staticmethod
    def nothing_is_the_zero_of_shorter(a: Schedule) -> Same:
        return a & Constant(0), Constant(0)


class Sums:
    """Laws of `+`: it is a monoid, over which numbers and the lattice distribute."""

    @staticmethod
    def sum_is_commutative(a: Schedule, b: Schedule) -> Same:
        return a + b, b + a

    @staticmethod
    def sum_is_associative(a: Schedule, b: Schedule, c: Schedule) -> Same:
        return (a + b) + c, a + (b + c)

    @staticmethod
    def nothing_is_the_unit_of_sum(a: Schedule) -> Same:
        return a + Constant(0), a

    @staticmethod
    def sum_distributes_over_longer(a: Schedule, b: Schedule, c: Schedule) -> Same:
        return a + (b | c), (a + b) | (a + c)

    @staticmethod
    def sum_distributes_over_shorter(a: Schedule, b: Schedule, c: Schedule) -> Same:
        return a + (b & c), (a + b) & (a + c)

    @staticmethod
    def twice_is_the_sum_with_itself(a: Schedule) -> Same:
        return 2 * a, a + a

    @staticmethod
    def once_is_itself(a: Schedule) -> Same:
        return 1 * a, a

    @staticmethod
    def times_nothing_is_nothing(a: Schedule) -> Same:
        return a * 0, Constant(0)

    @staticmethod
    def times_is_written_on_either_side(a: Schedule, x: float) -> Same:
        return x * a, a * x

    @staticmethod
    def times_composes(a: Schedule, x: float, y: float) -> Same:
        return x * (y * a), (x * y) * a

    @staticmethod
    def times_distributes_over_sum(a: Schedule, b: Schedule, x: float) -> Same:
        return x * (a + b), x * a + x * b

    @staticmethod
    def times_distributes_over_longer(a: Schedule, b: Schedule, x: float) -> Same:
        return x * (a | b), x * a | x * b


class Spread:
    """Laws of `jittered` and `seeded`."""

    @staticmethod
    def a_spread_of_one_is_none(a: Schedule) -> Same:
        return a.jittered(1), a

    @staticmethod
    def a_seed_is_nothing_to_what_is_certain(a: Schedule) -> Same:
        return a.seeded(1), a

    @staticmethod
    def the_first_seed_holds(a: Schedule) -> Same:
        return a.jittered().seeded(1).seeded(2), a.jittered().seeded(1)

    @staticmethod
    def the_spread_is_above_the_wait(a: Schedule, spread: float) -> Same:
        jittered = a.jittered(spread).seeded(1)
        return a | jittered, jittered

    @staticmethod
    def the_spread_is_below_its_bound(a: Schedule, spread: float) -> Same:
        jittered = a.jittered(spread).seeded(1)
        return jittered & spread * a, jittered


sources = st.builds(Random, st.integers(0, 2**32))  # quicker than hypothesis' own
STRATEGIES = {
    **dict.fromkeys("abc", st.builds(random_deterministic, sources)),
    **dict.fromkeys("xy", st.floats(0, 100)),
    "spread": st.floats(1, 10),
}

LAWS = [
    pytest.param(law.__func__, id=name)
    for laws in (Lattice, Sums, Spread)
    for name, law in vars(laws).items()
    if isinstance(law, staticmethod)
]


@pytest.mark.parametrize("law", LAWS)
@given(st.data())
def test_law(law: Callable[..., Same], data: st.DataObject) -> None:
    names = law.__code__.co_varnames[: law.__code__.co_argcount]
    left, right = law(**{name: data.draw(STRATEGIES[name], name) for name in names})
    assert left.preview(12) == pytest.approx(right.preview(12), rel=1e-12, abs=1e-12)


@cache
def every_schedule() -> list[Schedule]:
    return [random_schedule(Random(seed)) for seed in range(SCHEDULES)]  # noqa: S311


def ten_thousand(begin: int = 0) -> Iterator[tuple[Schedule, Random]]:
    """Random schedules, from one of them on, each with a source of random numbers."""
    for seed, schedule in enumerate(every_schedule()[begin:], SCHEDULES + begin):
        yield schedule, Random(seed)  # noqa: S311


def kinds(base: type) -> set[type]:
    derived: list[type] = base.__subclasses__()
    return {base}.union(*map(kinds, derived))


def test_every_kind_is_among_the_ten_thousand() -> None:
    seen = {part.__class__ for schedule, _ in ten_thousand() for part in parts(schedule)}
    ours = {kind for kind in kinds(Schedule) if kind.__module__.startswith("ixbackoff")}
    assert {kind for kind in ours if not kind.__subclasses__()} <= seen
    assert {Shrinking, Erratic} <= seen


@pytest.mark.slow
def test_no_schedule_shortens_a_wait() -> None:
    mended = 0
    for schedule, of in ten_thousand():
        waits = schedule.begin(of)
        asked = sorted(of.sample(range(20), 6))  # a program may skip rungs
        seconds = [waits(k) for k in asked]
        if isinstance(schedule, Shrinking | Erratic):
            mended += seconds != sorted(seconds)
            seconds.sort()
        else:
            assert seconds == sorted(seconds), schedule
            assert all(wait <= schedule.longest(k) for k, wait in zip(asked, seconds, strict=True))
        previewed = schedule.preview(WAITS, seed=1)
        assert previewed == sorted(previewed), schedule
    assert mended > 100  # custom schedules that break the promise are among them


@pytest.mark.slow
def test_no_run_of_a_program_shortens_a_wait() -> None:
    program = at(N8).retry(Ask("a"))
    never = Ask.handled_by(always(NotReady()))
    for schedule, of in ten_thousand(SCHEDULES - RUNS):
        world = Virtual(never)
        with pytest.raises(NotReady):
            program.run(world.interpreter, schedule=schedule.seeded(of.randrange(1000)))
        assert len(world.waits) == WAITS
        assert world.waits == sorted(world.waits), schedule
        assert sum(world.waits) <= plan(program, schedule).seconds * (1 + 1e-12)


@pytest.mark.slow
def test_no_run_shortens_a_wait_whatever_retry_after_says() -> None:
    program = at(N8).retry(Ask("a"))
    lengthened = 0
    for schedule, of in ten_thousand(SCHEDULES - RUNS):
        asked = [of.choice([None, of.uniform(0, 100), of.expovariate(1)]) for _ in range(9)]
        world = Virtual(Ask.handled_by(answers(*(Throttled(after) for after in asked))))
        with pytest.raises(Throttled):
            program.run(world.interpreter, schedule=schedule.seeded(of.randrange(1000)))
        assert len(world.waits) == WAITS
        assert world.waits == sorted(world.waits), schedule
        assert all(
            wait >= (after or 0) for wait, after in zip(world.waits, asked[:WAITS], strict=True)
        )
        lengthened += any(wait in asked for wait in world.waits)
    assert lengthened > RUNS / 2


@given(st.builds(random_schedule, sources), st.integers(0, 100))
def test_a_seeded_schedule_is_the_same_in_every_run(schedule: Schedule, seed: int) -> None:
    seeded = schedule.seeded(seed)
    first, second = seeded.begin(), seeded.begin(Random(5))  # noqa: S311
    assert [first(k) for k in range(WAITS)] == [second(k) for k in range(WAITS)]
    assert schedule.preview(WAITS, seed=seed) == seeded.preview(WAITS) == seeded.preview(WAITS)


@given(st.builds(random_schedule, sources))
def test_what_is_deterministic_draws_nothing(schedule: Schedule) -> None:
    nothing: Any = object()
    if schedule.deterministic:
        waits = schedule.begin(nothing)
        assert [waits(k) for k in range(WAITS)] == [schedule.longest(k) for k in range(WAITS)]
        assert schedule.preview(WAITS, seed=1) == schedule.preview(WAITS, seed=2)


@pytest.mark.parametrize(("factor", "shorter"), [(2.0, 0), (1.9, 4), (1.2, 1500)])
def test_where_waits_grow_by_less_than_the_spread_their_order_is_kept(
    factor: float, shorter: int
) -> None:
    bare = Exponential(1, factor)
    seen = 0
    for seed in range(500):
        of = Random(seed)  # noqa: S311
        drawn = [wait * of.uniform(1, 2) for wait in bare.preview(20)]
        assert bare.jittered(2).preview(20, seed=seed) == list(accumulate(drawn, max))
        seen += sum(later < wait for wait, later in pairwise(drawn))
    assert seen >= shorter
    assert seen == 0 or factor < 2


def test_what_nothing_bounds_is_said_to_be_so() -> None:
    assert post_blue.longest(3) == (post_blue + Constant(1)).longest(3) == inf
    assert (post_blue & Constant(9)).longest(3) == 9
    assert (0 * post_blue).longest(3) == 0


def test_what_shortens_has_no_algebra() -> None:
    leaves = [kind for kind in kinds(Shortening) if not kind.__subclasses__()]
    assert len(leaves) >= 5
    for kind in leaves:
        named = {name for base in kind.__mro__ for name in vars(base)}
        assert not {"__or__", "__and__", "__add__", "__mul__", "jittered", "longest"} & named
