"""A strategy of hypothesis, for histories that are too long to enumerate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._words.extras import needed
from .history import Drawn

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def histories(surprises: int = 8, apart: int = 10) -> SearchStrategy[Drawn]:
    """Return a strategy that draws histories, to be passed as `only=`.

    Enumerate histories first, and then draw longer ones, with few surprises: a draw of more than
    twenty surprises hardly ever finds a small failure.

    >>> from hypothesis import given
    >>> from ixbackoff.testing.exploring import Drawn, histories
    >>> @given(histories())
    ... def test_holds(history: Drawn) -> None:
    ...     assert isinstance(history, Drawn)  # or model.explore(program, only=history)
    >>> test_holds()

    Args:
        surprises: the greatest number of surprises in a history.
        apart: the greatest number of steps between two surprises.

    Raises:
        ImportError: hypothesis is not installed.
    """
    with needed("histories", "exploring", ["hypothesis"]):
        from hypothesis import strategies as st
    pair = st.tuples(st.integers(0, apart), st.integers(0, MOST))
    return st.lists(pair, max_size=surprises).map(Drawn)


MOST = 40  # the largest index of a surprise; it is taken modulo the number of surprises at a step
