"""Experiment: how much later than it lasted an outage is noticed to be over.

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
) -> list[Comparison]:
    """Every outage, with T * F^N, with R * T * F^N, and with MIN(R * T * F^N, M).

    >>> [compared] = recovery([30.0], clients=10)
    >>> compared.plain.last, compared.spread.last <= 92, compared.capped.last <= 90
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
        Comparison(
            recovered(outage, plain),
            recovered(outage, spread, clients, seed),
            recovered(outage, capped, clients, seed),
        )
        for outage in outages
    ]
