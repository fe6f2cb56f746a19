"""A strategy of hypothesis: histories that are too long to look at all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._words.extras import needed
from .history import Drawn

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def histories(surprises: int = 8, apart: int = 10) -> SearchStrategy[Drawn]:
    """Return a strategy that draws histories, to be given as `only=`.

    Enumerate first, and draw second, with few surprises: where more than twenty are drawn, a small
    failure is hardly ever found.

    >>> from hypothesis import given
    >>> from ixbackoff.testing.exploring import Drawn, histories
    >>> @given(histories())
    ... def test_holds(history: Drawn) -> None:
    ...     assert isinstance(history, Drawn)  # rather model.explore(program, only=history)
    >>> test_holds()

    Args:
        surprises: how many surprises a history has at most.
        apart: how many commands there are at most between two of them.

    Raises:
        ImportError: hypothesis is not installed.
    """
    with needed("histories", "exploring", ["hypothesis"]):
        from hypothesis import strategies as st
    pair = st.tuples(st.integers(0, apart), st.integers(0, MOST))
    return st.lists(pair, max_size=surprises).map(Drawn)


MOST = 40
"""The largest number of a surprise; it is counted round where there are fewer."""
