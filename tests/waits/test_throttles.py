"""Throttles: what a service would not answer is not asked."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import ClientError, Crowded, ServerError, Throttle

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


@given(st.floats(1.5, 4), st.integers(2, 10), st.integers(20, 100))
def test_in_a_steady_state_it_asks_over_times_the_answers_and_one(
    over: float, one_in: int, rate: int
) -> None:
    throttle, made, answered = Throttle(over), 0, 0
    for number in range(rate * 100):
        now = number / rate
        well = (made + 1) % one_in == 0
        if asked(throttle, now, None if well else ServerError(503)) and now >= 50:
            made += 1
            answered += well
        elif now < 50:
            made += 0
    windows = 50 / 10
    assert made <= max(over, one_in) * answered + 3 * windows + one_in + 0.01 * rate * 50


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
