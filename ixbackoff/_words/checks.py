"""Checks of the numbers that callers give."""

from __future__ import annotations

from math import isfinite


def is_finite(number: object) -> bool:
    """Whether it is a number, and a float can hold it.

    >>> is_finite(1), is_finite("1"), is_finite(float("inf")), is_finite(10**999)
    (True, False, False, False)
    """
    try:
        return isinstance(number, float | int) and isfinite(number)
    except OverflowError:  # an int beyond all floats
        return False
