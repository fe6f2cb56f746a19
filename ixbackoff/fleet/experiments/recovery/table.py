"""The times at which the end of an outage was noticed, as text."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from ...seeded import Numbers
from .model import Comparison

HEAD = """\
                T*F^N                      R*T*F^N             MIN(R*T*F^N, M)
outage  closed  simul.  ratio  median    last  ratio   bound  median    last   bound  gave up"""


def table(some: Sequence[Comparison]) -> str:
    """A table of the results of `recovery`; the ratios are those of the last client.

    >>> from ixbackoff.fleet.experiments.recovery.model import recovery
    >>> print(table(recovery([30.0], clients=1)).splitlines()[-1][:29])
      30.0    31.0    31.0   1.03
    """
    return "\n".join([HEAD, *map(line, some)])


def line(compared: Comparison) -> str:
    """A line of the table."""
    plain, spread, capped = compared
    outage = plain.outage
    cells: list[str | float] = [
        outage,
        plain.formula.noticed(outage),
        plain.last,
        f"{plain.last / outage:5.2f}",
        spread.median,
        spread.last,
        f"{spread.last / outage:5.2f}",
        spread.formula.bound(outage),
        capped.median,
        capped.last,
        capped.formula.bound(outage),
        f"{sum(one.gave_up for one in compared):7}",
    ]
    return "  ".join(cell if isinstance(cell, str) else seconds(cell) for cell in cells)


def seconds(number: float) -> str:
    """Seconds with two decimal places below 10, and with one above; `never`, if they are nan."""
    if isnan(number):
        return " never"
    return f"{number:6.2f}" if number < 9.995 else f"{number:6.1f}"


def numbers(comparisons: Sequence[Comparison]) -> Numbers:
    """The numbers of `recovery` that depend on the seed: the waits without R do not."""
    return {
        f"{one.outage:6g}  {formula:15}  {name}": None if isnan(number) else number
        for compared in comparisons
        for formula, one in {"R*T*F^N": compared.spread, "MIN(R*T*F^N, M)": compared.capped}.items()
        for name, number in {"median": one.median, "last": one.last}.items()
    }
