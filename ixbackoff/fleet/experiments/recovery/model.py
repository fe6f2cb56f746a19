"""The delay until clients notice that an outage is over.

For MIN(R * T * F^N, M) of "Exponential Backoff in Distributed Systems" (Douglas Thain, 2009), with
and without R and M: in closed form, and simulated.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import NamedTuple

from ...._words.commands import Command
from ...._words.nat import N20
from ...._writing.programs import at
from ...queues import BoundedQueue
from ...simulation import Outage, simulate
from .formula import Formula

OUTAGES = (0.5, 1.1, 5.0, 10.0, 30.0, 31.5, 60.0, 120.0, 300.0, 600.0)
LONGEST = 86_400  # seconds of an outage
CLIENTS = 1000
SPREAD = 2.0  # R is evenly between 1 and this


class Reach(Command[None]):
    """A request to the service that is down."""

    __slots__ = ()


class Recovery(NamedTuple):
    """The results of one outage, with one formula.

    Attributes:
        outage: its length, seconds; it began when the clients did.
        formula: the formula of the waits.
        noticed: when each client found the service again, sorted.
        gave_up: the number of clients whose ladder ended before the outage did.
    """

    outage: float
    formula: Formula
    noticed: tuple[float, ...]
    gave_up: int

    @property
    def median(self) -> float:
        """The time at which half of the clients had noticed; nan, if none had."""
        return median(self.noticed) if self.noticed else float("nan")

    @property
    def last(self) -> float:
        """The time at which all clients had noticed; nan, if none had."""
        return self.noticed[-1] if self.noticed else float("nan")


def recovered(outage: float, formula: Formula, clients: int = 1, seed: int = 0) -> Recovery:
    """Simulate clients with twenty waits in an outage.

    >>> recovered(30.0, Formula()).noticed
    (31.0,)

    Args:
        outage: its length, seconds.
        formula: the formula of the waits.
        clients: the number of clients.
        seed: the seed of the random numbers.

    Raises:
        ValueError: `clients` or `outage` is not above 0, or the formula has no waits.
    """
    outcome = simulate(
        at(N20).retry(Reach()),
        BoundedQueue(length=0, work=0.0, workers=clients).serves(Reach),
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
        if isinstance(happened.command, Reach) and happened.failure is None
    ]
    return Recovery(outage, formula, tuple(sorted(answered)), clients - len(answered))


class Comparison(NamedTuple):
    """The results of one outage, with three formulas.

    Attributes:
        plain: the formula without R and M.
        spread: the formula with R.
        capped: the formula with R and M.
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
) -> list[Comparison]:
    """Simulate each outage with T * F^N, with R * T * F^N, and with MIN(R * T * F^N, M).

    >>> [compared] = recovery([30.0], clients=10)
    >>> compared.plain.last, compared.spread.last <= 92, compared.capped.last <= 90
    (31.0, True, True)

    Args:
        outages: their lengths, seconds.
        timeout: T, seconds.
        factor: F.
        maximum: M, seconds.
        clients: the number of clients, where there is an R.
        seed: the seed of the random numbers.

    Raises:
        ValueError: as `recovered`.
    """
    plain = Formula(timeout, factor)
    spread = plain._replace(spread=SPREAD)
    capped = spread._replace(maximum=maximum)
    return [
        Comparison(
            recovered(outage, plain),
            recovered(outage, spread, clients, seed),
            recovered(outage, capped, clients, seed),
        )
        for outage in outages
    ]
