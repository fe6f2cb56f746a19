"""The ways in which a simulation can perform a program, and programs that have both."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from hypothesis import strategies as st

from ixbackoff import FOREVER, NotReady, at, do
from ixbackoff.fleet import Outcome
from ixbackoff.schedules import Timing

from ..generators.parts import in_parts
from ..generators.programs import RUNGS, effects, failures
from ..ways.programs import Ask
from .scripted import (
    Script,
    fleet,
    in_a_row,
    seconds,
    throttled,
    timings,
    without_the_short_cut,
)

WAYS = ["retries", "streams"]


def performed_by(way: str) -> AbstractContextManager[object]:
    """Let all clients perform the stream of their program, or retry its effect where they can."""
    shortened: AbstractContextManager[object] = without_the_short_cut(way == "retries")
    return shortened


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
some_clients: dict[str, st.SearchStrategy[Any]] = {
    "on": st.sampled_from(ON) | st.none(),
    "timing": timings,
    "some": st.lists(st.lists(tried, min_size=1, max_size=8), min_size=1, max_size=3),
    "think": st.sampled_from([None, 5.0]),
    "at_once": st.booleans(),
    "trace": st.booleans(),
    "each": tries,
}
"""What clients try: arguments of a test, and those of `retried_by`."""


def retried_by(
    on: Any,
    some: list[Script],
    each: tuple[Any, Any],
    *,
    timing: Timing,
    think: float | None,
    at_once: bool,
    trace: bool,
    **how: Any,
) -> Outcome:
    """Let three clients retry an effect from a rung, with scripts for them."""
    rung, effect = each
    program = at(rung).retry(effect) if on is None else at(rung).retry(effect, on)
    scripts = [[*script, (0.5, 1)] for script in some]  # or one at FOREVER would never move on
    how |= {"schedule": timing, "think": think, "at_once": at_once, "trace": trace}
    return fleet(program, *scripts, clients=3, seconds=61.5, **how)
