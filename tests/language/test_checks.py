"""The checks of numbers that come from users: what passes, and what the error says."""

from __future__ import annotations

import re
from datetime import timedelta
from math import inf, isnan, nan
from typing import Any

import pytest

from ixbackoff._words.checks import above_zero, between, finite, in_seconds


@pytest.mark.parametrize("number", [1, 0.5, 0, -3, 1e300])
def test_a_finite_number_is_itself(number: float) -> None:
    assert finite(number) == number
    assert type(finite(number)) is float


@pytest.mark.parametrize("other", ["1", None, inf, -inf, nan, 10**999, 1j])
def test_what_is_no_finite_number_compares_with_nothing(other: Any) -> None:
    assert isnan(finite(other))


def test_a_length_is_its_seconds() -> None:
    assert in_seconds(timedelta(minutes=1)) == 60.0
    assert in_seconds(2.5) == 2.5
    assert in_seconds(None) is None


@pytest.mark.parametrize("seconds", [1e-9, 0.5, 1, 10])
def test_above_zero_is_what_it_is(seconds: float) -> None:
    assert above_zero("think", seconds) == seconds


@pytest.mark.parametrize("seconds", [0, -0.0, -1, inf, nan, "1"])
def test_at_or_below_zero_is_refused(seconds: Any) -> None:
    said = f"think={seconds!r}: give a finite number of seconds, above 0."
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        above_zero("think", seconds)


@pytest.mark.parametrize("number", [1, 1.5, 60, timedelta(seconds=60)])
def test_bounds_belong_to_what_is_between_them(number: Any) -> None:
    expected = number.total_seconds() if isinstance(number, timedelta) else number
    assert between("ttl", number, 1, 60, "seconds") == expected


@pytest.mark.parametrize("number", [0.999, 60.001, inf, nan, "5", timedelta(seconds=61)])
def test_what_is_out_of_bounds_is_refused(number: Any) -> None:
    with pytest.raises(ValueError, match=r"ttl=.*seconds, 1 to 60"):
        between("ttl", number, 1, 60, "seconds")
