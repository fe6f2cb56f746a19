"""The published schedules against the numbers and the formulas of their documents."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from math import log, sqrt
from random import Random
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import N3, Constant, Exponential, Log, at, plan
from ixbackoff.schedules import Timing
from ixbackoff.schedules.kinds import powers_of_two
from ixbackoff.schedules.published import (
    NormalJitter,
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

from ..support.generators.distributions import (
    DRAWS,
    LIMIT,
    Fixed,
    assert_distributed,
    distance,
    drawn,
    normal,
    uniform,
)

seconds = st.floats(1e-3, 1e3)
factors = st.floats(1, 10)


def near(expected: list[float]) -> object:
    """Compare numbers to 1e-9, relative and absolute."""
    return pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_the_article_waits_powers_of_two() -> None:
    assert powers_of_two.preview(21) == [2.0**k for k in range(21)]
    assert [rung.wait_seconds for rung in plan(at(N3).retry(Log("x"))).rungs] == [1, 2, 4, None]


@given(seconds, factors, st.floats(1, 1e6), st.integers(0, 20))
def test_exponential_is_its_formula(base: float, factor: float, above: float, k: int) -> None:
    cap = base * above
    assert [Exponential(base, factor).begin()(k)] == near([base * factor**k])
    assert [Exponential(base, factor, cap).begin()(k)] == near([min(base * factor**k, cap)])


def test_aws_waits_a_tenth_of_a_second_times_powers_of_two() -> None:
    milliseconds = [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]
    polling = aws_polling(max_wait_interval=10)
    assert polling.preview(9) == near([wait / 1000 for wait in milliseconds])
    assert polling.deterministic  # the document wants no random numbers here


@given(seconds, factors, st.floats(0.1, 1e4), st.floats(1, 2), st.integers(0, 20))
def test_thain_is_its_formula(t: float, f: float, m: float, r: float, n: int) -> None:
    waits = thain(timeout=t, maximum=m, factor=f).begin(Fixed(r))
    assert [waits(n)] == near([min(r * t * f**n, m)])


@pytest.mark.parametrize("n", [0, 1, 5])
def test_thain_spreads_evenly_between_one_and_two(n: int) -> None:
    waits = drawn(thain(timeout=0.01, maximum=1), n)
    assert_distributed([wait / (0.01 * 2**n) for wait in waits], uniform(1, 2))


def test_thain_loses_its_spread_at_the_cap() -> None:
    assert set(drawn(thain(timeout=0.01, maximum=1), 7)) == {1.0}


def test_thain_may_start_or_grow_past_its_maximum() -> None:
    assert thain(timeout=5, maximum=1).preview(2) == [1, 1]
    first, *later = thain(timeout=1, maximum=10, factor=1e20).preview(30, seed=1)
    assert 1 <= first <= 2
    assert later == [10] * 29


def test_thain_never_shortens_by_itself_where_it_grows_by_two() -> None:
    chance = Random(1)  # noqa: S311
    for _ in range(2000):
        draws = [chance.uniform(1, 2) * 0.01 * 2**n for n in range(10)]
        assert draws == sorted(draws)


def test_thain_notices_a_recovery_one_wait_late() -> None:
    tries = list(accumulate(powers_of_two.preview(5)))
    assert next(at for at in tries if at > 30) == 31


def test_thain_thins_the_traffic_to_clients_by_the_longest_wait() -> None:
    assert 1000 / thain(timeout=0.01, maximum=1).longest(20) == 1000


def test_the_shell_waits_whole_seconds_evenly_spread_also_at_its_cap() -> None:
    assert set(drawn(fault_tolerant_shell, 0)) == {1.0}
    counts = Counter(drawn(fault_tolerant_shell, 3))
    assert sorted(counts) == list(range(8, 16))
    expected, deviation = DRAWS / 8, sqrt(DRAWS / 8 * 7 / 8)
    assert all(abs(count - expected) < 4 * deviation for count in counts.values())
    at_the_cap = drawn(fault_tolerant_shell, 15)
    assert all(wait == int(wait) for wait in at_the_cap)
    assert_distributed([wait / 3600 for wait in at_the_cap], uniform(1, 2))
    assert fault_tolerant_shell.longest(20) == 7200


@given(st.floats(1, 2), st.integers(0, 20))
def test_the_shell_is_its_formula(r: float, k: int) -> None:
    assert fault_tolerant_shell.begin(Fixed(r))(k) == int(min(2**k, 3600) * r)


def pseudo_code(schedule: NormalJitter, waits: int, chance: Random) -> list[float]:
    """The seconds that the loop of "Exponential Backoff or how not to crash a server" sleeps."""
    slept = []
    delay = schedule.min_delay
    for _ in range(waits):
        slept.append(delay)
        delay = min(delay * schedule.factor, schedule.max_delay)
        delay = delay + chance.normalvariate(0, delay * schedule.jitter)
    return slept


normal_jitters = st.builds(
    lambda least, factor, jitter, above: NormalJitter(least, factor, jitter, least * above),
    seconds, factors, st.floats(0, 0.2), st.floats(1, 1e4),
)  # fmt: skip


@pytest.mark.parametrize("schedule", [post_blue, post_green], ids=["blue", "green"])
@pytest.mark.parametrize("seed", range(20))
def test_the_post_is_its_pseudo_code(schedule: NormalJitter, seed: int) -> None:
    slept = pseudo_code(schedule, 40, Random(seed))  # noqa: S311
    raw = RawNormalJitter(schedule).preview(40, seed=seed)
    assert raw == near(slept)
    assert schedule.preview(40, seed=seed) == near(list(accumulate(slept, max)))


@given(normal_jitters, st.integers(0, 10**6))
def test_normal_jitter_is_the_pseudo_code(schedule: NormalJitter, seed: int) -> None:
    slept = pseudo_code(schedule, 20, Random(seed))  # noqa: S311
    assert RawNormalJitter(schedule).preview(20, seed=seed) == near(slept)
    assert schedule.preview(20, seed=seed) == near(list(accumulate(slept, max)))


def test_the_graphs_of_the_post_without_their_jitter() -> None:
    blue = NormalJitter(post_blue.min_delay, post_blue.factor, 0, post_blue.max_delay)
    green = NormalJitter(post_green.min_delay, post_green.factor, 0, post_green.max_delay)
    assert blue.preview(11) == near([min(0.1 * 2.7**k, 600) for k in range(11)])
    assert green.preview(17) == near([min(1.5**k, 300) for k in range(17)])
    assert blue.preview(11).index(600) == 9 == int(log(6000, 2.7)) + 1
    assert green.preview(17).index(300) == 15 == int(log(300, 1.5)) + 1


def test_the_jitter_of_the_post_is_normal_and_carried_over() -> None:
    assert set(drawn(post_blue, 0)) == {0.1}
    raw = RawNormalJitter(post_blue)
    first = drawn(raw, 1)
    assert_distributed(first, normal(0.27, 0.027))
    chance = Random(3)  # noqa: S311
    runs = [raw.begin(chance) for _ in range(DRAWS)]
    shares = [run(2) / (2.7 * before) for run in runs for before in (run(1),)]
    assert_distributed(shares, normal(1, 0.1))  # of a wait that has its own jitter


def test_the_jitter_of_the_post_comes_after_the_cap() -> None:
    at_the_cap = drawn(RawNormalJitter(post_blue), 30)
    assert fmean(at_the_cap) == pytest.approx(600, rel=0.06)  # the cap bounds what is carried over
    assert stdev(at_the_cap) == pytest.approx(60, rel=0.15)
    assert max(at_the_cap) > 600
    assert post_blue.longest(30) == float("inf")


EXPO = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.0, 2.0]


@pytest.mark.parametrize("k", range(10))
def test_the_jitters_of_aws_are_their_formulas(k: int) -> None:
    assert FullJitter().expo(k) == pytest.approx(min(2.0, 0.005 * 2 ** (k + 1)), rel=1e-9)
    assert FullJitter().expo(k) == pytest.approx(EXPO[k], rel=1e-9)
    assert_distributed(drawn(FullJitter(), k), uniform(0, EXPO[k]))
    assert_distributed(drawn(EqualJitter(), k), uniform(EXPO[k] / 2, EXPO[k]))


def test_decorrelated_jitter_is_its_formula() -> None:
    assert_distributed(drawn(DecorrelatedJitter(), 0), uniform(0.005, 0.015))
    chance = Random(4)  # noqa: S311
    runs = [DecorrelatedJitter().begin(chance) for _ in range(DRAWS)]
    shares = [
        (run(1) - 0.005) / (3 * before - 0.005) for run in runs for before in (run(0),)
    ]  # fmt: skip
    assert_distributed(shares, uniform(0, 1))
    longest = [max(run(k) for k in range(2, 40)) for run in runs]
    assert max(longest) == 2.0


@given(st.floats(1e-3, 1), st.floats(1, 1e3), st.integers(0, 10**6))
def test_decorrelated_jitter_is_made_of_the_wait_before(base: float, up: float, seed: int) -> None:
    cap = base * up
    chance, before = Random(seed), base  # noqa: S311
    for wait in DecorrelatedJitter(base, cap).preview(20, seed=seed):
        before = min(cap, chance.uniform(base, before * 3))
        assert [wait] == near([before])


@given(st.integers(0, 10**6))
def test_decorrelated_jitter_asked_for_its_last_wait_again_draws_it_anew(seed: int) -> None:
    timing = DecorrelatedJitter()
    waits = timing.begin(Random(seed))  # noqa: S311
    assert [waits(min(k, 19)) for k in range(60)] == timing.preview(60, seed=seed)


def test_decorrelated_jitter_draws_the_waits_that_are_passed_over() -> None:
    in_order = DecorrelatedJitter().preview(6, seed=1)
    waits = DecorrelatedJitter().begin(Random(1))  # noqa: S311
    assert [waits(k) for k in (0, 3, 5)] == [in_order[k] for k in (0, 3, 5)]


def test_every_is_measured_from_the_start_of_a_try() -> None:
    assert Every(30).preview(3) == [30, 30, 30]
    assert Every(0.5).preview(1) == [0.5]
    assert Every(0).preview(2) == [0, 0]
    assert Every(30).from_start
    assert not any(timing.from_start for timing in (Constant(30), powers_of_two, FullJitter()))


SHORTENING: list[Timing] = [
    FullJitter(), EqualJitter(), DecorrelatedJitter(), RawNormalJitter(post_green),
]  # fmt: skip


@pytest.mark.parametrize("timing", SHORTENING, ids=repr)
def test_the_same_seed_shortens_in_the_same_way(timing: Timing) -> None:
    assert timing.preview(5, seed=1) == timing.preview(5, seed=1) != timing.preview(5, seed=2)


@pytest.mark.parametrize("timing", SHORTENING, ids=repr)
def test_what_is_called_shortening_shortens(timing: Timing) -> None:
    runs = [timing.preview(20, seed=seed) for seed in range(100)]
    assert sum(run != sorted(run) for run in runs) > 50


def test_the_test_of_distributions_finds_what_is_wrong() -> None:
    even = drawn(Constant(1).jittered(2), 0)
    assert distance(even, uniform(1, 2)) * sqrt(DRAWS) < LIMIT
    assert distance(even, uniform(1, 2.05)) * sqrt(DRAWS) > LIMIT
    assert distance(even, normal(1.5, sqrt(1 / 12))) * sqrt(DRAWS) > LIMIT
    assert distance([wait**1.1 / 2**0.1 for wait in even], uniform(1, 2)) * sqrt(DRAWS) > LIMIT
