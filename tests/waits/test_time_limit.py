"""`time_limit(5)` is a number, with a deadline and without one."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from ixbackoff import N0, Call, at, call, time_limit
from ixbackoff.testing import Virtual


@pytest.mark.parametrize(
    ("most", "within", "limit"),
    [(5, None, 5), (5, 2, 2), (2, 5, 2), (timedelta(seconds=3), None, 3), (timedelta(1), 7.5, 7.5)],
    ids=repr,
)
def test_it_is_the_smaller_one(most: Any, within: float | None, limit: float) -> None:
    limits: list[float] = []
    world = Virtual(Call.handled_by(lambda _: limits.append(time_limit(most))))
    at(N0).do(call(print)).run(world.interpreter, within=within)
    assert limits == [limit]
    assert time_limit(most) == (most if isinstance(most, int) else most.total_seconds())


@pytest.mark.parametrize("most", [0, -1, float("nan"), float("inf"), "5"], ids=repr)
def test_it_is_above_0(most: Any) -> None:
    with pytest.raises(ValueError, match="most="):
        time_limit(most)
