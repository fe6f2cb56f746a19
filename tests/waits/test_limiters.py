"""Limiters: a rate that all keep together, and what they hear of the service."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from itertools import pairwise
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    N0,
    N3,
    Call,
    Crowded,
    Limiter,
    NotReady,
    ServerError,
    Throttled,
    at,
    backoff,
    call,
    call_async,
    do,
)
from ixbackoff._words.headers import RateLimit, rate_limit, retry_after
from ixbackoff.live import live, live_async
from ixbackoff.testing import Virtual, always

from ..support.ways.programs import Ask

FOREVER = float("inf")


class Times:
    """Tries on a clock of its own, each of which goes at its turn."""

    def __init__(self, limiter: Limiter) -> None:
        self.limiter = limiter
        self.line: list[tuple[float, float, int]] = []  # turn, came, number
        self.went: list[tuple[float, float, int]] = []
        self.number = 0

    def come(self, now: float) -> None:
        self.number += 1
        try:
            self.line.append((self.limiter.enter(now, now, FOREVER), now, self.number))
        except Crowded:
            return

    def advance(self, until: float) -> None:
        """Let those go whose turn comes, in the order of their turns."""
        while self.line and min(self.line)[0] <= until:
            turn, came, number = min(self.line)
            self.line.remove((turn, came, number))
            try:
                again = self.limiter.turn(turn, turn, came, FOREVER)
            except Crowded:
                continue
            if again > turn:
                self.line.append((again, came, number))
            else:
                self.went.append((turn, came, number))


EVENTS = st.lists(
    st.tuples(
        st.floats(0, 3),
        st.one_of(
            st.just("come"),
            st.just("come"),
            st.floats(0.5, 20),  # a Retry-After
            st.tuples(st.integers(0, 5), st.integers(0, 20)),  # the rest of a quota
            st.just(ServerError(503)),
            st.just(None),
        ),
    ),
    max_size=60,
)


@given(
    EVENTS,
    st.floats(0.5, 50),
    st.integers(1, 5),
    st.floats(0, 30),
)
def test_no_window_has_more_than_the_rate_and_the_burst(
    events: list[tuple[float, Any]], rate: float, burst: int, line: float
) -> None:
    limiter = Limiter(rate, line=line, burst=burst)
    times, now = Times(limiter), 0.0
    closed: list[tuple[float, float]] = []
    for passed, event in events:
        now += passed
        times.advance(now)
        if event == "come":
            times.come(now)
        elif isinstance(event, float):
            limiter.hear(Throttled(event), now, now)
            closed.append((now, now + event))
        elif isinstance(event, tuple):
            limiter.learn({"RateLimit": f'"a";r={event[0]};t={event[1]}'})
            limiter.hear(None, now, now)
            closed += [(now, now + event[1])] if not event[0] else []
        else:
            limiter.hear(event, now, now)
    times.advance(FOREVER)
    went = [turn for turn, _, _ in times.went]
    assert went == sorted(went)
    for first in range(len(went)):
        for last in range(first, len(went)):
            most = (went[last] - went[first]) * rate + burst
            assert last - first + 1 <= most + 1e-6
    for begin, end in closed:
        assert not [turn for turn in went if begin < turn < end - 1e-9]
    assert all(turn - came <= line for turn, came, _ in times.went)
    if not closed:  # no place in line is void
        numbers = [number for _, _, number in times.went]
        assert numbers == sorted(numbers)


@given(st.floats(0.5, 5000), st.integers(1, 5), st.integers(2, 200))
def test_after_a_pause_turns_are_given_one_by_one_and_at_first_slowly(
    rate: float, burst: int, many: int
) -> None:
    limiter = Limiter(rate, line=1e6, burst=burst)
    limiter.hear(Throttled(30), 0.0, 0.0)
    turns = [limiter.enter(0.0, 0.0, FOREVER) for _ in range(many)]
    assert turns[0] == 30
    apart = [later - turn for turn, later in pairwise(turns)]
    assert apart == pytest.approx([max(1 / rate, 0.3 * 0.99**k) for k in range(many - 1)], rel=1e-3)


@pytest.mark.parametrize("seconds", [1, 60, 3600, 1e6])
@pytest.mark.parametrize("rate", [None, 20, 1000])
def test_after_a_pause_of_any_length_it_is_soon_as_fast_as_before(
    rate: float | None, seconds: float
) -> None:
    limiter = Limiter(rate, line=20)
    limiter.hear(Throttled(seconds), 0.0, 0.0)
    went = 0
    for number in range(2500):  # ten a second, for 250 s
        now = max(seconds - 15, 0) + number / 10
        with suppress(Crowded):
            limiter.enter(now, now, FOREVER)
            went += number >= 1500
    assert went >= 950


@given(st.lists(st.floats(-5, 5), max_size=30))
def test_a_clock_that_goes_back_lengthens_a_line_by_no_more(steps: list[float]) -> None:
    limiter, now, back = Limiter(10, line=1e9), 100.0, 0.0
    for number, step in enumerate(steps):
        now += step
        back += max(0.0, -step)
        assert limiter.enter(now, now, FOREVER) - now <= back + number / 10 + 1e-6


def test_places_before_the_end_of_a_pause_are_void_and_later_ones_stay() -> None:
    limiter = Limiter(1, line=100)
    turns = [limiter.enter(0.0, 0.0, FOREVER) for _ in range(5)]
    assert turns == [0.0, 1.0, 2.0, 3.0, 4.0]
    limiter.close(2.5)
    assert limiter.turn(3.0, 3.0, 0.0, FOREVER) == 3.0
    assert limiter.turn(1.0, 1.0, 0.0, FOREVER) == 5.0


class TestHearing:
    def test_a_pause_of_one_is_a_pause_of_all(self) -> None:
        limiter = Limiter(line=100)
        world = Virtual(Ask.handled_by(always(1)))
        limiter.hear(Throttled(30), 0.0, 0.0)
        at(N0).do(Ask("a")).run(world.interpreter, through=limiter)
        assert world.lines == [30.0]

    def test_after_it_those_without_a_rate_are_spread(self) -> None:
        limiter = Limiter(line=100)
        limiter.hear(ServerError(503, 20), 10.0, 10.0)
        turns = [limiter.enter(10.0, 10.0, FOREVER) for _ in range(3)]
        assert turns == pytest.approx([30.0, 30.2, 30.398])
        assert [limiter.enter(31.0, 31.0, FOREVER) for _ in range(2)] == pytest.approx(
            [31, 31.19406]
        )
        assert limiter.enter(50.0, 50.0, FOREVER) == limiter.enter(50.0, 50.0, FOREVER) == 50.0

    @pytest.mark.parametrize("rate", [None, 100_000])
    def test_after_it_those_that_it_refused_are_spread(self, rate: float | None) -> None:
        limiter = Limiter(rate, line=20)
        limiter.hear(Throttled(30), 0.0, 0.0)
        for _ in range(3):
            with pytest.raises(Crowded) as caught:
                limiter.enter(1.0, 1.0, FOREVER)
            assert caught.value.retry_after == 29.0  # all of them come back at 30 s
        turns = [limiter.enter(30.0, 30.0, FOREVER) for _ in range(3)]
        assert turns == pytest.approx([30.0, 30.3, 30.597], rel=1e-5)

    @pytest.mark.parametrize("failure", [None, ServerError(503), NotReady(retry_after=9)])
    def test_other_outcomes_close_nothing(self, failure: Exception | None) -> None:
        limiter = Limiter(line=100)
        limiter.hear(failure, 0.0, 0.0)
        assert limiter.enter(0.0, 0.0, FOREVER) == 0.0

    def test_throttled_without_a_time_closes_for_one_turn(self) -> None:
        limiter = Limiter(2, line=100)
        limiter.hear(Throttled(), 0.0, 0.0)
        assert limiter.enter(0.0, 0.0, FOREVER) == 0.5

    def test_answers_with_headers_teach_it(self) -> None:
        class Answer:
            headers: ClassVar[dict[str, str]] = {
                "RateLimit": '"a";r=0;t=9',
                "RateLimit-Policy": '"a";q=10;w=20',
            }

        limiter = Limiter(line=100)
        world = Virtual(Call.handled_by(always(Answer())))
        for _ in range(3):
            at(N0).do(call(Answer)).run(world.interpreter, through=limiter)
        assert world.lines == [9.0, 9.0]
        assert [limiter.enter(60.0, 60.0, FOREVER) for _ in range(2)] == [60.0, 62.0]

    def test_a_burst_is_not_above_the_rest(self) -> None:
        limiter = Limiter(1, line=100, burst=50)
        limiter.learn({"X-RateLimit-Remaining": "5", "X-RateLimit-Reset": "60"})
        limiter.hear(None, 0.0, 0.0)
        turns = [limiter.enter(0.0, 0.0, FOREVER) for _ in range(7)]
        assert turns == [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0]

    def test_a_failure_tells_it_by_known(self) -> None:
        httpx = pytest.importorskip("httpx")
        request = httpx.Request("GET", "http://localhost/")
        headers = {"ratelimit-remaining": "0", "ratelimit-reset": "7"}
        answer = httpx.Response(429, headers=headers, request=request)
        limiter = Limiter(line=100)
        failure = httpx.HTTPStatusError("429", request=request, response=answer)
        limiter.hear(failure, 0.0, 0.0)
        assert limiter.enter(0.0, 0.0, FOREVER) == 7.0


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"RateLimit": '"a";r=50;t=30'}, (50, 30, 0)),
        ({"RateLimit": '"a";r=50'}, (50, 0, 0)),
        ({"RateLimit": '"a";t=50'}, None),
        ({"RateLimit": '"a";r=0', "RateLimit-Policy": '"a";q=100;w=10'}, (0, 0.1, 0.1)),
        ({"RateLimit": "limit=10, remaining=1, reset=7"}, None),
        ({"RateLimit-Remaining": "3", "RateLimit-Reset": "7"}, (3, 7, 0)),
        ({"X-Rate-Limit-Remaining": "3", "X-Rate-Limit-Reset": "7"}, (3, 7, 0)),
        ({"X-RateLimit-Remaining": "-1", "X-RateLimit-Reset": "7"}, None),
        ({"X-RateLimit-Remaining": "3"}, None),
        ({"RateLimit": f'"a";r=0;t={"9" * 400}'}, (0, 1e9, 0)),
        ({"RateLimit": f'"a";r={"9" * 400};t=1'}, (1e9, 1, 0)),
        ({"RateLimit": '"a";r=0', "RateLimit-Policy": f'"a";q=1;w={"9" * 400}'}, (0, 1e9, 1e9)),
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9" * 400}, (0, 1e9, 0)),
    ],
)
def test_headers(headers: dict[str, str], expected: tuple[float, ...] | None) -> None:
    assert rate_limit(headers) == (None if expected is None else RateLimit(*expected))


def test_a_reset_may_be_in_seconds_since_1970() -> None:
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()) + 60)}
    told = rate_limit(headers)
    assert told is not None
    assert 55 < told.seconds <= 60
    assert 55 < (retry_after(headers) or 0) <= 60


def test_retry_after_comes_before_the_rest_of_a_quota() -> None:
    rest = {"RateLimit": '"a";r=0;t=30'}
    assert retry_after({"Retry-After": "2", **rest}) == 2
    assert retry_after(rest) == 30
    assert retry_after({"RateLimit": '"a";r=1;t=30'}) is None


@pytest.mark.parametrize("seconds", [1e300, 1.7e308, 1e-300])
def test_it_closes_for_as_long_as_it_is_told(seconds: float) -> None:
    limiter = Limiter(5, line=60, burst=3)
    limiter.hear(Throttled(seconds), 0.0, 0.0)
    if seconds < 1:
        assert limiter.enter(1.0, 1.0, FOREVER) == 1.0
        return
    with pytest.raises(Crowded) as refusal:
        limiter.enter(1.0, 1.0, FOREVER)
    assert refusal.value.retry_after == seconds


@pytest.mark.parametrize("until", [FOREVER, -FOREVER, float("nan")])
def test_it_is_not_closed_until_a_time_that_is_none(until: float) -> None:
    with pytest.raises(ValueError, match="give a finite time"):
        Limiter(line=5).close(until)


class TestLearning:
    def test_it_has_no_limit_until_the_service_throttles(self) -> None:
        limiter = Limiter.learning(line=20)
        assert [limiter.enter(1.0, 1.0, FOREVER) for _ in range(100)] == [1.0] * 100

    def test_it_falls_to_a_part_of_the_measured_rate_and_grows_again(self) -> None:
        limiter = Limiter.learning(line=1e9)
        for number in range(200):  # 20 a second
            limiter.hear(None, number / 20, number / 20)
        limiter.hear(Throttled(), 10.0, 10.0)
        assert repr(limiter) == "<Limiter: learns its rate, 1e+09 s in line at most>"
        each: list[float] = []
        for second in range(10, 20):
            for number in range(20 * bool(each)):
                limiter.hear(None, second + number / 20, 0.0)
            turns = [limiter.enter(1e6 * second, 1e6 * second, FOREVER) for _ in range(2)]
            each.append(turns[1] - turns[0])
        assert each == sorted(each, reverse=True)
        assert 1 / each[0] == pytest.approx(20 * 0.7, rel=0.2)
        assert 1 / each[-1] > 20

    def test_it_is_never_above_most(self) -> None:
        limiter = Limiter.learning(line=1e9, most=4)
        turns = [limiter.enter(1.0, 1.0, FOREVER) for _ in range(3)]
        assert turns == [1.0, 1.25, 1.5]


class TestArguments:
    @pytest.mark.parametrize(
        "wrong",
        [{"tries": 0}, {"per": 0}, {"line": -1}, {"burst": 0}, {"line": "1"}, {"tries": FOREVER}],
    )
    def test_wrong_numbers_are_refused(self, wrong: dict[str, Any]) -> None:
        given: dict[str, Any] = {"tries": 1, "line": 1} | wrong
        with pytest.raises(ValueError, match=f"{next(iter(wrong))}="):
            Limiter(**given)

    @pytest.mark.parametrize("most", [0, -1, FOREVER])
    def test_the_error_names_the_argument_of_learning(self, most: float) -> None:
        with pytest.raises(ValueError, match=f"^most={most}: give a number of tries per second"):
            Limiter.learning(line=20, most=most)

    def test_it_shows_its_rate(self) -> None:
        assert repr(Limiter(10, per=timedelta(minutes=1), line=5)) == (
            "<Limiter: 0.166667 tries per second, 5 s in line at most>"
        )
        assert repr(Limiter(line=5)) == "<Limiter: without a rate, 5 s in line at most>"


def rate_holds(times: list[float], rate: float) -> bool:
    times.sort()
    return all(
        last - first + 1 <= (times[last] - times[first]) * rate + 1 + 0.05 * rate
        for first in range(len(times))
        for last in range(first, len(times))
    )


def test_64_threads_keep_the_rate_together() -> None:
    limiter, times = Limiter(500, line=60), list[float]()

    @backoff(N3, through=limiter)
    def ask() -> None:
        times.append(time.monotonic())

    with ThreadPoolExecutor(64) as pool:
        list(pool.map(lambda _: ask(), range(256)))
    assert len(times) == 256
    assert max(times) - min(times) >= 255 / 500 - 0.05


def test_1000_tasks_keep_the_rate_together() -> None:
    limiter, times = Limiter(2000, line=60), list[float]()

    async def ask() -> None:
        times.append(time.monotonic())

    async def all_of_them() -> None:
        program = at(N0).do(do(call_async(ask)).through(limiter))
        await asyncio.gather(*[program.run_async(live_async()) for _ in range(1000)])

    asyncio.run(all_of_them())
    assert len(times) == 1000
    assert max(times) - min(times) >= 999 / 2000 - 0.05


def test_one_limiter_serves_threads_and_asyncio() -> None:
    limiter, begun = Limiter(20, line=60), time.monotonic()
    at(N0).do(call(int)).run(live(), through=limiter)
    asyncio.run(at(N0).do(call(int)).run_async(live_async(), through=limiter))
    at(N0).do(call(int)).run(live(), through=limiter)
    assert time.monotonic() - begun >= 0.1
