"""A client that drives its tries itself does what its stream of commands does."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ixbackoff import at
from ixbackoff.schedules import Timing

from ..support.fleets.scripted import Script, fleet, seen, timings
from ..support.fleets.streams import ON, performed_by, tried, tries


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
    with performed_by("streams"):
        generic = fleet(program, *scripts, **how)
    assert seen(lean) == seen(generic)
    assert seen(fleet(program, *scripts, **how)) == seen(lean)
