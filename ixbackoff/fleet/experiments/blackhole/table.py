"""The files that were read, as text."""

from __future__ import annotations

from collections.abc import Sequence

from ...seeded import Numbers
from .model import Reading


def table(readings: Sequence[Reading]) -> str:
    """A table of the results of `black_hole`.

    >>> print(table([]))
    reader    files  given up
    """
    lines = [f"{one.kind:8}  {one.reads:5}  {one.late:8}" for one in readings]
    return "\n".join(["reader    files  given up", *lines])


def numbers(readings: Sequence[Reading]) -> Numbers:
    """The numbers of `black_hole` that depend on the seed."""
    return {
        f"{one.kind:8}  {name}": number
        for one in readings
        for name, number in {"files": one.reads, "given up": one.late}.items()
    }
