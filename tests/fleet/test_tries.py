"""A client that drives its tries itself does what its stream of commands does."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import (
    FOREVER,
    DeadlineExceeded,
    Do,
    Log,
    NotReady,
    Now,
    Throw,
    all_of,
    at,
    attempt,
    do,
    first_of,
)
from ixbackoff.schedules import Timing

from ..support.fleets import Script, fleet, in_a_row, seconds, seen, throttled, timings
from ..support.observing import Ask
from ..support.programs import RUNGS, effects, failures, two, with_a_rescue

limits = st.sampled_from([0.0, 0.05, 0.5, 1.0, 2.5, 10.0])


@attempt
def timed(first: Any, seconds: float, second: Any) -> Do[Any, int]:
    """Two limits, one after the other, and what is done when the first is over."""
    try:
        one: int = yield from do(first).limit(seconds)
    except DeadlineExceeded:
        one = yield from Ask("late")
    other: int = yield from do(second).limit(seconds / 2)
    return one * 10 + other


@attempt
def noted(effect: Any) -> Do[Any, int]:
    yield from Log("begun")
    answer: int = yield from effect
    now = yield from Now()
    if now > 30:
        yield from Throw(NotReady("too late"))
    return answer


def in_parts(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Effects with limits, at the same time, one of several, and with commands of no service."""
    return st.one_of(
        st.builds(lambda effect, seconds: do(effect).limit(seconds), inner, limits),
        st.builds(timed, inner, limits, inner),
        st.builds(noted, inner),
        st.builds(two, inner, inner),
        st.builds(with_a_rescue, inner),
        st.builds(lambda one, other: do(one).then(lambda _: other), inner, inner),
        st.builds(lambda one, other: do(one).or_else(other, on=Exception), inner, inner),
        st.builds(lambda some: all_of(some), st.lists(inner, min_size=1, max_size=2)),
        st.builds(lambda some: first_of(some), st.lists(inner, min_size=1, max_size=2)),
    )


asking = st.one_of(
    st.sampled_from([Ask("a"), do(Ask("a"))]),
    st.builds(lambda seconds: do(Ask("a")).limit(seconds), st.floats(0.05, 10)),
    st.builds(in_a_row, st.lists(st.sampled_from("abc"), min_size=1, max_size=3)),
)
tries: st.SearchStrategy[Any] = st.tuples(st.sampled_from([*RUNGS, FOREVER]), asking) | st.tuples(
    st.sampled_from(RUNGS), effects | st.recursive(effects, in_parts, max_leaves=4)
)
"""A rung and an effect. Some effects fail whatever is answered: at FOREVER they would never end."""
tried = st.tuples(seconds, st.integers(0, 5) | failures | throttled)
ON: list[Any] = [
    (NotReady, KeyError),
    Exception,
    lambda failure: isinstance(failure, ConnectionError),
    lambda failure: failure.status == 503,  # which not all have
]


@given(
    on=st.sampled_from(ON) | st.none(),
    timing=timings,
    some=st.lists(st.lists(tried, min_size=1, max_size=8), min_size=1, max_size=3),
    think=st.sampled_from([None, 5.0]),
    at_once=st.booleans(),
    trace=st.booleans(),
    each=tries,
)
def test_a_retry_is_what_its_stream_is(
    on: Any,
    timing: Timing,
    some: list[Script],
    think: float | None,
    at_once: bool,
    trace: bool,
    each: tuple[Any, Any],
) -> None:
    rung, effect = each
    how = {"schedule": timing, "clients": 3, "seconds": 61.5, "think": think}
    how |= {"at_once": at_once, "trace": trace}
    program = at(rung).retry(effect) if on is None else at(rung).retry(effect, on)
    scripts = [[*script, (0.5, 1)] for script in some]  # or one at FOREVER would never move on
    lean = fleet(program, *scripts, **how)
    with patch("ixbackoff.fleet.engine.tried", lambda _: None):
        generic = fleet(program, *scripts, **how)
    assert seen(lean) == seen(generic)
    assert seen(fleet(program, *scripts, **how)) == seen(lean)
