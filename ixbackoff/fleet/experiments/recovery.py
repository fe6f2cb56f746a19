"""Experiment: how much later than it lasted an outage is noticed to be over.

For MIN(R * T * F^N, M) of "Exponential Backoff in Distributed Systems" (Douglas Thain, 2009), with
and without R and M: in closed form, and simulated.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from functools import partial
from math import isnan
from statistics import median
from typing import NamedTuple

from ..._commandline import number, whole
from ..._words.commands import Command
from ..._words.nat import N20
from ..._writing.programs import at
from ..drawing import pictured
from ..queues import BoundedQueue
from ..simulation import Outage, simulate
from .commands import command
from .formula import Formula

OUTAGES = (0.5, 1.1, 5.0, 10.0, 30.0, 31.5, 60.0, 120.0, 300.0, 600.0)
LONGEST = 86_400  # seconds of an outage
CLIENTS = 1000
SPREAD = 2.0  # R is evenly between 1 and this


class Ask(Command[None]):
    """A request."""

    __slots__ = ()


class Recovery(NamedTuple):
    """What an outage comes to, with one formula.

    Attributes:
        outage: how long it lasted, seconds; it began when the clients did.
        formula: of their waits.
        noticed: when each client that had not given up found the service again, sorted.
        gave_up: how many had come to the end of their ladder before.
    """

    outage: float
    formula: Formula
    noticed: tuple[float, ...]
    gave_up: int

    @property
    def median(self) -> float:
        """When half of them had; not a number, if nobody had."""
        return median(self.noticed) if self.noticed else float("nan")

    @property
    def last(self) -> float:
        """When all of them had; not a number, if nobody had."""
        return self.noticed[-1] if self.noticed else float("nan")


def recovered(outage: float, formula: Formula, clients: int = 1, seed: int = 0) -> Recovery:
    """Let clients with twenty waits meet an outage.

    >>> recovered(30.0, Formula()).noticed
    (31.0,)

    Args:
        outage: seconds.
        formula: of their waits.
        clients: how many.
        seed: of the random numbers.

    Raises:
        ValueError: there are no clients or no seconds, or the formula has no waits.
    """
    outcome = simulate(
        at(N20).retry(Ask()),
        BoundedQueue(length=0, service=0.0, workers=clients).serves(Ask),
        clients=clients,
        seconds=formula.bound(outage) + 1,
        schedule=formula.schedule,
        outages=[Outage(0.0, outage)],
        seed=seed,
        trace=True,
    )
    answered = [
        happened.at
        for happened in outcome.trace
        if isinstance(happened.command, Ask) and happened.failure is None
    ]
    return Recovery(outage, formula, tuple(sorted(answered)), clients - len(answered))


class Row(NamedTuple):
    """One outage, with three formulas.

    Attributes:
        plain: without R and M.
        spread: with R.
        capped: with R and M.
    """

    plain: Recovery
    spread: Recovery
    capped: Recovery


def recovery(
    outages: Iterable[float] = OUTAGES,
    *,
    timeout: float = 1.0,
    factor: float = 2.0,
    maximum: float = 60.0,
    clients: int = CLIENTS,
    seed: int = 0,
) -> list[Row]:
    """Every outage, with T * F^N, with R * T * F^N, and with MIN(R * T * F^N, M).

    >>> [row] = recovery([30.0], clients=10)
    >>> row.plain.last, row.spread.last <= 92, row.capped.last <= 90
    (31.0, True, True)

    Args:
        outages: how long they last, seconds.
        timeout: T, seconds.
        factor: F.
        maximum: M, seconds.
        clients: how many, where there is an R.
        seed: of the random numbers.

    Raises:
        ValueError: as `recovered`.
    """
    plain = Formula(timeout, factor)
    spread = plain._replace(spread=SPREAD)
    capped = spread._replace(maximum=maximum)
    return [
        Row(
            recovered(outage, plain),
            recovered(outage, spread, clients, seed),
            recovered(outage, capped, clients, seed),
        )
        for outage in outages
    ]


HEAD = """\
                T*F^N                      R*T*F^N             MIN(R*T*F^N, M)
outage  closed  simul.  ratio  median    last  ratio   bound  median    last   bound  gave up"""


def table(rows: Sequence[Row]) -> str:
    """What `recovery` came to, as text; the ratios are those of the last client.

    >>> print(table(recovery([30.0], clients=1)).splitlines()[-1][:29])
      30.0    31.0    31.0   1.03
    """
    return "\n".join([HEAD, *map(line, rows)])


def line(row: Row) -> str:
    """One line of the table."""
    plain, spread, capped = row
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
        f"{sum(one.gave_up for one in row):7}",
    ]
    return "  ".join(cell if isinstance(cell, str) else seconds(cell) for cell in cells)


def seconds(number: float) -> str:
    """With two decimal places below 10, and with one above; `never`, if it is not a number."""
    if isnan(number):
        return " never"
    return f"{number:6.2f}" if number < 9.995 else f"{number:6.1f}"


def parsed(arguments: list[str] | None) -> Namespace:
    """The command line's words."""
    parser = command(
        "recovery",
        "When clients notice that an outage is over, whose waits are T * F^N, "
        "R * T * F^N and MIN(R * T * F^N, M), with R evenly between 1 and 2: in closed form, and "
        "simulated.",
    )
    parser.add_argument(
        "--outage",
        type=number(1e-3, LONGEST),
        action="append",
        metavar="SECONDS",
        help="how long one is; can be given more than once (default: half a second to 10 minutes)",
    )
    for name, least, most, default, what in (
        ("--timeout", 1e-3, 3600, 1.0, "T, seconds"),
        ("--factor", 1.1, 10, 2.0, "F"),
        ("--maximum", 1e-3, 1e6, 60.0, "M, seconds"),
    ):
        parser.add_argument(
            name,
            type=number(least, most),
            default=default,
            metavar=what[0],
            help=f"{what} (default: %(default)g)",
        )
    parser.add_argument(
        "--clients", type=whole(1, 100_000), default=CLIENTS, help="(default: %(default)s)"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Print the table, and draw the picture if one is wanted; the exit status."""
    words = parsed(arguments)
    rows = recovery(
        words.outage or OUTAGES,
        timeout=words.timeout,
        factor=words.factor,
        maximum=words.maximum,
        clients=words.clients,
        seed=words.seed,
    )
    print(table(rows))
    from .recovery_pictures import draw

    return pictured(partial(draw, rows), words.picture)


if __name__ == "__main__":
    sys.exit(main())
