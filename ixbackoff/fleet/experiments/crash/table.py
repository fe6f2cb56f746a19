"""The crashes, as text."""

from __future__ import annotations

from collections.abc import Sequence

from ...seeded import Numbers
from .model import Crash

HEAD = "queue  backoff      steady/s  timeouts/s  after 1 s    most   end/s  recovers"


def table(crashes: Sequence[Crash]) -> str:
    """A table of the results of `crash`.

    >>> print(table([]))
    queue  backoff      steady/s  timeouts/s  after 1 s    most   end/s  recovers
    """
    return "\n".join([HEAD, *map(row, crashes)])


def row(one: Crash) -> str:
    """A line of the table."""
    return (
        f"{one.backlog:5}  {one.way:11}  {one.steady:8.1f}  {one.rate:10.1f}  {one.after:9}  "
        f"{one.most:6}  {one.last:6.1f}  {'yes' if one.recovers else 'no'}"
    )


def numbers(crashes: Sequence[Crash]) -> Numbers:
    """The numbers of `crash` that depend on the seed."""
    return {
        f"{one.backlog:5}  {one.way:11}  {name}": number
        for one in crashes
        for name, number in {
            "after 1 s": one.after,
            "most": one.most,
            "end/s": one.last,
            "recovers": one.recovers,
        }.items()
    }
