"""Effects of several parts: with limits, at the same time, one of several, and bare commands."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ixbackoff import DeadlineExceeded, Do, Log, NotReady, Now, Throw, all_of, attempt, do, first_of

from ..ways.programs import Ask
from .programs import two, with_a_rescue

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


def in_turn(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Effects that others are parts of, never two at the same time."""
    return st.one_of(
        st.builds(lambda effect, seconds: do(effect).limit(seconds), inner, limits),
        st.builds(timed, inner, limits, inner),
        st.builds(noted, inner),
        st.builds(two, inner, inner),
        st.builds(with_a_rescue, inner),
        st.builds(lambda one, other: do(one).then(lambda _: other), inner, inner),
        st.builds(lambda one, other: do(one).or_else(other, on=Exception), inner, inner),
        st.builds(lambda some: first_of(some), st.lists(inner, min_size=1, max_size=2)),
    )


def at_once(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Effects at the same time."""
    return st.builds(lambda some: all_of(some), st.lists(inner, min_size=1, max_size=3))


def in_parts(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Effects that others are parts of."""
    return in_turn(inner) | at_once(inner)
