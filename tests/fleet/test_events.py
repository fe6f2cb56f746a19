"""Events come in the order of virtual time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import Misuse
from ixbackoff.fleet import Events


@given(st.lists(st.floats(0, 9), max_size=50), st.lists(st.floats(0, 10), max_size=5))
def test_events_come_in_the_order_of_time_and_then_of_asking(
    times: list[float], stops: list[float]
) -> None:
    events = Events(0)
    happened: list[tuple[float, int]] = []

    def happen(number: int) -> None:
        happened.append((events.now, number))
        if number < 500:  # something more, now and later
            events.after(0.0, happen, number + 1000)
            events.after(0.03, happen, number + 2000)

    expected: list[tuple[float, int]] = []
    for number, when in enumerate(times):
        events.at(when, happen, number)
        expected += [(when, number), (when, number + 1000), (when + 0.03, number + 2000)]
    for stop in sorted(stops):
        events.run(stop)
        assert events.now == stop
        assert all(when < stop for when, _ in happened)
    events.run(20.0)
    assert sorted(happened) == sorted(expected)
    assert [when for when, _ in happened] == sorted(when for when, _ in expected)
    firsts = [number for _, number in happened if number < 500]
    assert firsts == sorted(firsts, key=lambda number: times[number])
    assert events.count == len(expected)
    assert events.empty


def test_events_at_the_same_time_are_not_without_end() -> None:
    events = Events(0)
    events.most = 10
    happened = 0

    def happen(_: None) -> None:
        nonlocal happened
        happened += 1
        assert happened < 1000
        events.after(1e-4 if happened <= 100 else 0.0, happen)  # time goes by, and then does not

    events.at(0.5, happen)
    with pytest.raises(Misuse, match=r"At 0\.51 s 10 events happened, and time did not advance"):
        events.run(1.0)
    assert 100 < happened <= 121


@pytest.mark.parametrize("when", [-1.0, 4.9, float("nan"), float("inf"), -float("inf")])
def test_an_event_is_yet_to_come(when: float) -> None:
    events = Events(0)
    events.run(5.0)
    with pytest.raises(ValueError, match="give a later time"):
        events.at(when, print)
    if when != 4.9:
        with pytest.raises(ValueError, match="give a later time"):
            events.after(when, print)
