"""A client that drives its tries itself does what its stream of commands does."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import FOREVER, NotReady, at, do
from ixbackoff.schedules import Timing

from ..support.fleets.scripted import Script, fleet, in_a_row, seconds, seen, throttled, timings
from ..support.generators.parts import in_parts
from ..support.generators.programs import RUNGS, effects, failures
from ..support.ways.programs import Ask

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
    with patch("ixbackoff.fleet.simulator.tried", lambda _: None):
        generic = fleet(program, *scripts, **how)
    assert seen(lean) == seen(generic)
    assert seen(fleet(program, *scripts, **how)) == seen(lean)
