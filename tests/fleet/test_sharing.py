"""Processor sharing: jobs progress together, each at the same speed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff.fleet import Events
from ixbackoff.fleet.services.equal_speed_sharing import Sharing


@given(st.lists(st.tuples(st.floats(0, 9), st.floats(0.1, 9)), min_size=1, max_size=8))
def test_sharing_is_what_small_steps_give(works: list[tuple[float, float]]) -> None:
    events = Events(seed=1)
    ends: dict[int, float] = {}

    def ended(number: int) -> None:
        ends[number] = events.now

    shared: Sharing[int] = Sharing(events, lambda many: 2.0 / many, ended)
    for number, (begin, work) in enumerate(works):
        events.at(begin, lambda given: shared.begin(*given), (number, work))
    events.run(until=999)
    step, now = 0.005, 0.0
    left = dict(enumerate(work for _, work in works))
    while left:
        there = [number for number in left if works[number][0] <= now]
        for number in there:
            left[number] -= 2.0 * step / len(there)
            if left[number] <= 0:
                del left[number]
                assert ends[number] == pytest.approx(now, abs=0.1)
        now += step
    assert len(shared) == 0


def test_who_leaves_is_never_done_and_the_rest_is_sooner() -> None:
    events, done = Events(seed=1), list[tuple[str, float]]()
    shared: Sharing[str] = Sharing(
        events, lambda many: 1.0 / many, lambda name: done.append((name, events.now))
    )
    shared.begin("a", 4.0)
    shared.begin("b", 1.0)
    events.run(until=1.0)
    assert shared.total() == 1.0
    shared.leave("b")
    shared.leave("b")  # it is not there any more
    assert ([*shared], shared.total()) == (["a"], 0.5)
    shared.begin("b", 9.0)  # what it had is lost
    events.run(until=8.0)
    assert done == []
    events.run(until=8.1)
    assert done == [("a", 8.0)]
    assert shared.clear() == ["b"]
    events.run(until=99.0)
    assert done == [("a", 8.0)]


def test_who_comes_again_is_not_done_when_it_would_have_been() -> None:
    events, done = Events(seed=1), list[tuple[str, float]]()
    shared: Sharing[str] = Sharing(
        events, lambda many: 1.0 / many, lambda name: done.append((name, events.now))
    )
    shared.begin("a", 1.0)
    shared.begin("b", 2.0)
    shared.leave("b")
    shared.begin("b", 3.0)
    events.run(until=99.0)
    assert done == [("a", 2.0), ("b", 4.0)]
