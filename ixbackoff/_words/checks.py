"""Checks of the numbers that callers give."""

from __future__ import annotations

from math import isfinite, nan


def finite(number: object) -> float:
    """The float that `number` is; nan, which is in no bounds, if a float cannot hold it.

    A class of one's own is not asked, since `float(number)` and `number > 0` may say anything.

    >>> finite(3), finite("1"), finite(float("inf")), finite(10**999)
    (3.0, nan, nan, nan)
    >>> class Liar(float):
    ...     def __float__(self):
    ...         return float("inf")
    >>> finite(Liar(2.5))
    2.5
    """
    if isinstance(number, float):
        exact = float.__pos__(number)
    elif isinstance(number, int):
        try:
            exact = int.__float__(number)
        except OverflowError:
            return nan
    else:
        return nan
    return exact if isfinite(exact) else nan


def between(name: str, number: float, least: float, most: float, what: str) -> float:
    """`number` as a float, if it is within these bounds.

    >>> between("ttl", 10, 1, 60, "seconds")
    10.0

    Raises:
        ValueError: it is not, or it is not a number.
    """
    exact = finite(number)
    if not least <= exact <= most:
        raise ValueError(
            f"{name}={number!r}: give a number of {what}, {least:.13g} to {most:.13g}."
        )
    return exact
