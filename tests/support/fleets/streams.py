"""The ways in which a simulation can perform a program, and programs that have both."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from hypothesis import strategies as st

from ixbackoff import FOREVER, NotReady, do

from ..generators.parts import in_parts
from ..generators.programs import RUNGS, effects, failures
from ..ways.programs import Ask
from .scripted import in_a_row, seconds, throttled, without_the_short_cut

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
