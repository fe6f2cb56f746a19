"""Groups of failures: one may pass if all that is in it may."""

from __future__ import annotations

import pytest

from ixbackoff import Throttled, known


@pytest.mark.parametrize("depth", [0, 1, 50, 3000])
def test_a_group_is_judged_by_what_is_in_it_however_deep(depth: int) -> None:
    def deep(*failures: Exception) -> Exception:
        group = ExceptionGroup("several", failures)
        for _ in range(depth):
            group = ExceptionGroup("one", [group])
        return group

    passing = deep(Throttled(2), Throttled(3), ConnectionError())
    assert known.judge(passing) == known.Verdict(True, 3.0)
    lasting = deep(Throttled(2), KeyError("id"))
    assert known.judge(lasting) == known.judge(KeyError("id"))


def test_a_group_that_holds_another_one_twice_at_each_depth_is_judged_at_once() -> None:
    group: Exception = Throttled(2)
    for _ in range(100):
        group = ExceptionGroup("twice", [group, group])
    assert known.judge(group) == known.Verdict(True, 2.0)
