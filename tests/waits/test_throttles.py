"""Throttles: what a service would not answer is not asked."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import N0, Call, ClientError, Crowded, NotReady, ServerError, Throttle, at, call, do
from ixbackoff.testing import Virtual, always

UNTIL = float("inf")


def asked(throttle: Throttle, now: float, failure: Exception | None) -> bool:
    """Whether a try at this time is made; then it ends with `failure`."""
    try:
        throttle.enter(now, now, UNTIL)
    except Crowded:
        return False
    throttle.hear(failure, now, now)
    return True


@given(st.lists(st.floats(0, 30), max_size=100), st.floats(1.5, 4))
def test_it_refuses_nothing_while_everything_is_answered(passed: list[float], over: float) -> None:
    throttle, now = Throttle(over), 0.0
    for seconds in passed:
        now += seconds
        assert asked(throttle, now, ClientError(404) if seconds > 20 else None)
    assert throttle.share == 0


def test_an_answer_that_the_program_rejects_is_an_answer() -> None:
    throttle, world = Throttle(), Virtual(Call.handled_by(always("running")))
    polled = at(N0).do(do(call(str)).expect(lambda answer: answer == "done"))
    for _ in range(20):
        with pytest.raises(NotReady):
            polled.run(world.interpreter, through=throttle)
    assert throttle.share == 0


@given(st.integers(1, 1000), st.integers(1, 200), st.floats(0, 5))
def test_a_burst_is_not_refused_because_its_answers_are_under_way(
    first: int, second: int, later: float
) -> None:
    throttle = Throttle()
    for many, now in ((first, 0.0), (second, later)):
        for _ in range(many):
            throttle.enter(now, now, UNTIL)
        for _ in range(many):
            throttle.hear(None, now + 2, now)
    assert throttle.share == 0


@given(st.floats(1.5, 4), st.floats(1, 30), st.floats(1, 20))
def test_in_a_steady_state_it_asks_over_times_the_answers_and_one(
    over: float, capacity: float, load: float
) -> None:
    """The service has a bucket of one token, and answers `capacity` tries a second at most."""
    throttle, made, answered, tokens = Throttle(over), 0, 0, 1.0
    rate = load * capacity
    for number in range(int(rate * 100)):
        tokens = min(1.0, tokens + 1 / load)
        well = tokens >= 1 - 1e-9
        if asked(throttle, number / rate, None if well else ServerError(503)):
            tokens -= well
            made += number >= rate * 50
            answered += well and number >= rate * 50
    windows = 50 / 9  # of 9 to 10 s
    assert made <= 1.02 * over * answered + windows + 1


def test_in_an_outage_it_asks_about_once_in_ttl() -> None:
    throttle = Throttle()
    counts = [asked(throttle, number / 10, ServerError(503)) for number in range(6000)]
    assert 40 <= sum(counts) <= 140  # in 600 s, with 100 tries in each 10 s


def test_the_first_answer_after_an_outage_ends_it() -> None:
    throttle = Throttle()
    for number in range(600):
        asked(throttle, number / 10, ServerError(503))
    assert throttle.share > 0.9
    now = 60.0
    while not asked(throttle, now, None):
        now += 0.1
    assert now < 60 + 12
    assert throttle.share == 0
    assert all(asked(throttle, now + number / 10, None) for number in range(100))


@given(st.floats(0.1, 0.999), st.floats(1.5, 4))
def test_it_recovers_within_the_bound(most: float, over: float) -> None:
    """While a share s is refused and all else answered, 1 - s grows by `over` in each window."""
    throttle = Throttle(over, most=most)
    for number in range(200):
        asked(throttle, number / 10, ServerError(503) if number % 20 else None)
    now, refused = 20.0, 0.0
    for _ in range(2000):
        now += 0.1
        if not asked(throttle, now, None):
            refused = now
    assert refused - 20 <= 10 * (1 + 5 / (over - 1))


def test_counts_are_forgotten_after_ttl() -> None:
    throttle = Throttle(ttl=5)
    for _ in range(20):
        asked(throttle, 0.0, ServerError(503))
    assert throttle.share > 0.9
    assert asked(throttle, 5.0, None) or asked(throttle, 5.6, None)
    assert throttle.share == 0


@pytest.mark.parametrize("back", [0.001, 5, 1e6])
def test_a_clock_that_goes_back_neither_refuses_nor_keeps_refusing(back: float) -> None:
    throttle = Throttle()
    for number in range(100):
        assert asked(throttle, 1e6 + number / 10, None)
    now = 1e6 - back
    assert asked(throttle, now, None)
    for number in range(100):
        asked(throttle, now + number / 10, ServerError(503))
    assert throttle.share > 0.7
    for number in range(600):
        asked(throttle, now + 10 + number / 10, None)
    assert throttle.share == 0


@pytest.mark.parametrize("wrong", [{"over": 1.1}, {"ttl": 0}, {"most": 1}, {"over": "2"}])
def test_wrong_numbers_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}="):
        Throttle(**wrong)


def test_the_refusal_says_how_much_is_refused() -> None:
    throttle = Throttle()
    while asked(throttle, 0.0, ServerError(503)):
        pass
    while asked(throttle, 0.0, ServerError(503)):
        pass
    for _ in range(6):
        asked(throttle, 0.0, ServerError(503))
    with pytest.raises(Crowded, match=r"not asked: [89]\d% of the tries are refused") as refusal:
        throttle.enter(0.0, 0.0, UNTIL)
    assert refusal.value.retry_after is None
