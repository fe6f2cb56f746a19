"""Lengths of time as programs in Go read and print them, such as 100ms and 2m8.58s."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from collections.abc import Callable
from math import isfinite

SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
PART = re.compile(r"(\d+\.?\d*|\.\d+)(h|ms|m|s|us|µs|ns)")


def seconds_of(text: str) -> float:
    """Read a length of time; a number without a unit means seconds.

    >>> seconds_of("100ms"), seconds_of("2m8.580906589s"), seconds_of("0.1")
    (0.1, 128.580906589, 0.1)

    Raises:
        ValueError: the text is something else.
    """
    try:
        return float(text)
    except ValueError:
        parts = PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{text}: give seconds, or units: 1.5, 100ms, 1m30s.")
    return sum(float(number) * SECONDS[unit] for number, unit in parts)


def printed(seconds: float) -> str:
    """Return a length of time as text, to the nanosecond.

    >>> printed(0.1), printed(2.671444385), printed(128.580906589), printed(7200)
    ('100ms', '2.671444385s', '2m8.580906589s', '2h0m0s')
    """
    if not isfinite(seconds):
        return f"{seconds}"
    whole = int(abs(seconds) * 1e9)
    sign = "-" if seconds < 0 else ""
    for unit, size in ("ns", 1), ("µs", 1000), ("ms", 1_000_000):
        if whole < 1000 * size:
            return f"{sign}{decimal(whole, size)}{unit}" if whole else "0s"
    minutes, rest = divmod(whole, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    before = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{before}{decimal(rest, 10**9)}s"


def decimal(number: int, size: int) -> str:
    """Return the quotient of a number and a power of ten, without zeros at its end."""
    whole, rest = divmod(number, size)
    digits = f"{rest:0{len(str(size)) - 1}d}".rstrip("0") if rest else ""
    return f"{whole}.{digits}" if digits else f"{whole}"


def duration(least: float, most: float) -> Callable[[str], float]:
    """Return a parser of lengths of time, from `least` to `most` seconds.

    >>> duration(0.001, 10)("100ms")
    0.1
    """

    def read(text: str) -> float:
        try:
            value = seconds_of(text)
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            raise ArgumentTypeError(
                f"{text}: give seconds, {least:g} to {most:g}, or units, such as 100ms"
            )
        return value

    return read
