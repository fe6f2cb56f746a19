"""Requests at a service that is down, and runs that end well, as text."""

from __future__ import annotations

from collections.abc import Sequence

from ...seeded import Numbers
from .model import OPENING, Guarded

HEAD = """\
                          asked while down      runs that end well/s     runs that
                        in all  then  probes  before   end  recovers       gave up"""


def table(some: Sequence[Guarded]) -> str:
    """A table of the results of `guarded`.

    >>> print(table([]).splitlines()[0].strip()[:16])
    asked while down
    """
    return "\n".join([HEAD, *map(row, some)])


def row(one: Guarded) -> str:
    """A line of the table."""
    start, end = map(int, one.stopped.span)
    most = one.way.most(end - start - OPENING)
    recovered = "no" if one.recovered is None else f"after {one.recovered:.0f} s"
    return (
        f"{one.way.name:24}{sum(one.asked[start:end]):6}{one.down:6}"
        f"{'-' if most is None else most:>8}{one.before:8.1f}{one.last:6.1f}  {recovered:11}"
        f"{one.gave_up:9}"
    )


def numbers(results: Sequence[Guarded]) -> Numbers:
    """The numbers of `guarded` that depend on the seed."""
    return {
        f"{one.way.name:24}  {name}": number
        for one in results
        for name, number in {
            "asked, then": one.down,
            "recovers after, s": one.recovered,
            "gave up": one.gave_up,
            "recovers": one.recovered is not None,
        }.items()
    }
