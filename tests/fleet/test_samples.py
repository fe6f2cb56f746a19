"""Samples: the shares and quantiles of what many seeds gave, and their table."""

from __future__ import annotations

from math import inf
from statistics import median, quantiles

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ixbackoff.fleet import Sample
from ixbackoff.fleet.reports import spread

numbers = st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=50)


def sample(results: list[float | None]) -> Sample[float | None]:
    return Sample(tuple(range(len(results))), tuple(results))


def itself(number: float | None) -> float | None:
    return number


@given(numbers)
def test_quantiles_are_those_of_the_standard_library(some: list[float]) -> None:
    made = sample([*some])
    assert made.quantile(itself) == pytest.approx(median(some))
    theirs = quantiles(some, n=10, method="inclusive")
    assert [made.quantile(itself, k / 10) for k in range(1, 10)] == pytest.approx(theirs, abs=1e-3)
    assert (made.quantile(itself, 0), made.quantile(itself, 1)) == (min(some), max(some))


def test_what_never_comes_is_more_than_any_number() -> None:
    some = sample([1.0, None, 2.0, None, None])
    assert [some.quantile(itself, at) for at in (0, 0.25, 0.5, 1)] == [1, 2, inf, inf]
    assert some.quantile(itself, 0.4) == inf  # between a number and never
    assert sample([None]).quantile(itself) == inf


@pytest.mark.parametrize("at", [-0.1, 1.1, float("nan")])
def test_a_share_is_from_0_to_1(at: float) -> None:
    with pytest.raises(ValueError, match=r"at=.*: give a share, 0 to 1"):
        sample([1.0]).quantile(itself, at)


def test_shares_and_the_seeds_that_make_them() -> None:
    some = Sample((7, 9, 11, 13), ("a", "b", "b", "c"))
    assert some.where(lambda letter: letter == "b") == (9, 11)
    assert some.share(lambda letter: letter == "b") == 0.5
    assert some.share(lambda letter: letter == "d") == 0


def test_the_table_has_never_for_what_never_comes() -> None:
    back: list[float | None] = [3.0, None, 4.5]
    rows = [{"after, s": one, "back": one is not None} for one in back]
    _, after, share = spread(Sample((0, 1, 2), tuple(rows))).splitlines()
    assert after.split() == ["after,", "s", "3", "4.5", "never"]
    assert share.split() == ["back", "2", "of", "3"]
