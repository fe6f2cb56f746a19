"""Requests at the bottom and runs that end well, as text."""

from __future__ import annotations

from collections.abc import Sequence

from ...seeded import Numbers
from .model import Layered

HEAD = """\
                          requests per run    requests/s     runs that end well/s
queue  retries             closed  simul.   closed  simul.  before   end  recovers"""


def table(some: Sequence[Layered]) -> str:
    """A table of the results of `layered`.

    >>> print(table([]).splitlines()[0].strip()[:16])
    requests per run
    """
    return "\n".join([HEAD, *map(row, some)])


def row(one: Layered) -> str:
    """A line of the table."""
    asked, runs = one.way.asked(one.clients), one.way.runs(one.clients)
    recovered = "no" if one.recovered is None else f"after {one.recovered:.0f} s"
    simulated = f"{one.rate / one.runs:.1f}" if one.runs else "-"
    return (
        f"{one.queue:3.1f} s  {one.way.name:17}  {asked / runs:7.1f}  {simulated:>6}  "
        f"{asked:7.0f}  {one.rate:6.0f}  {one.before:6.1f}  {one.last:4.1f}  {recovered}"
    )


def numbers(results: Sequence[Layered]) -> Numbers:
    """The numbers of `layered` that depend on the seed."""
    return {
        f"{one.queue:.1f} s  {one.way.name:17}  {name}": number
        for one in results
        for name, number in {
            "requests/s": one.rate,
            "recovers after, s": one.recovered,
            "recovers": one.recovered is not None,
        }.items()
    }
