"""When clients notice that an outage is over, in closed form and simulated.

The waits are MIN(R * T * F^N, M) of "Exponential Backoff in Distributed Systems" (Douglas Thain,
2009), for R uniform between 1 and 2; T * F^N; and R * T * F^N.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, inf, isnan, log
from statistics import median
from typing import Annotated, NamedTuple

from ixbackoff import N20, Constant, Exponential, at
from ixbackoff._argument_parser import number, whole
from ixbackoff.fleet import BoundedQueue, Outage, simulate
from ixbackoff.schedules import Schedule

from ..drawing import Panel, Picture, by_size
from .experiment import Ask, Cells, Experiment, Shown, text

SPREAD = 2.0  # R is uniform between 1 and this


class Formula(NamedTuple):
    """MIN(R * T * F^N, M), with R uniform between 1 and `spread`."""

    timeout: float = 1.0  # T, seconds
    factor: float = 2.0  # F
    spread: float = 1.0  # the greatest R; with 1 the waits are not random
    maximum: float = inf  # M, seconds

    @property
    def schedule(self) -> Schedule:
        waits: Schedule = Exponential(self.timeout, self.factor)
        if self.spread > 1:
            waits = waits.jittered(self.spread)
        return waits if self.maximum == inf else waits & Constant(self.maximum)

    def tried(self, k: int) -> float:
        """Return the time of the k-th retry, if R is 1: T * (F^k - 1) / (F - 1).

        Once a wait has reached M, all waits are M.
        """
        below = min(k, self.growing)
        if self.factor == 1:
            grown = self.timeout * below
        else:
            grown = self.timeout * (self.factor**below - 1) / (self.factor - 1)
        return grown if k == below else grown + self.maximum * (k - below)

    @property
    def growing(self) -> float:
        """The number of waits that are shorter than M, if R is 1."""
        if self.maximum <= self.timeout:
            return 0
        if self.maximum == inf or self.factor == 1:
            return inf
        return ceil(log(self.maximum / self.timeout) / log(self.factor))

    def noticed(self, outage: float) -> float:
        """Return the time of the first retry at the end of an outage or later, if R is 1."""
        k, growing = 0, self.growing
        if growing != inf and self.tried(int(growing)) < outage:
            k = int(growing + (outage - self.tried(int(growing))) / self.maximum)
        while self.tried(k) < outage:
            k += 1
        return self.tried(k)

    def bound(self, outage: float) -> float:
        """Return the latest time at which any client notices the end of an outage, whatever R is.

        Before the wait in which the outage ends, there were k waits, of at least
        T * (F^k - 1) / (F - 1) seconds in sum, which is less than the outage. That wait lasts at
        most R * T * F^k, and at most M.
        """
        steep = 1 + self.spread * (self.factor - 1)
        return min(steep * outage + self.spread * self.timeout, outage + self.maximum)


class Recovery(NamedTuple):
    outage: float  # the length of the outage, which begins with the simulation, seconds
    formula: Formula
    noticed: tuple[float, ...]  # the times at which the clients were answered, sorted
    gave_up: int  # the number of clients whose ladder ended before the outage did

    @property
    def median(self) -> float:
        """The time at which half of the answered clients had their answers; nan without answers."""
        return median(self.noticed) if self.noticed else float("nan")

    @property
    def last(self) -> float:
        """The time of the last answer; nan without answers."""
        return self.noticed[-1] if self.noticed else float("nan")


def recovered(outage: float, formula: Formula, clients: int = 1, seed: int = 0) -> Recovery:
    outcome = simulate(
        at(N20).retry(Ask()),
        BoundedQueue(length=0, work=0.0, workers=clients).serves(Ask),
        clients=clients,
        seconds=formula.bound(outage) + 1,
        schedule=formula.schedule,
        outages=[Outage(0.0, outage)],
        seed=seed,
    )
    return Recovery(outage, formula, tuple(sorted(outcome.latencies)), outcome.gave_up)


class Comparison(NamedTuple):
    """The results of one outage: without R and M, with R, and with R and M."""

    plain: Recovery
    spread: Recovery
    capped: Recovery


def recovery(
    outage: Annotated[
        Iterable[float], number(1e-3, 86_400), "the length of an outage", "SECONDS"
    ] = (0.5, 1.1, 5.0, 10.0, 30.0, 31.5, 60.0, 120.0, 300.0, 600.0),
    *,
    timeout: Annotated[float, number(1e-3, 3600), "T, seconds", "T"] = 1.0,
    factor: Annotated[float, number(1.1, 10), "F", "F"] = 2.0,
    maximum: Annotated[float, number(1e-3, 1e6), "M, seconds", "M"] = 60.0,
    clients: Annotated[int, whole(1, 100_000), "the number of clients"] = 1000,
    seed: int = 0,
) -> list[Comparison]:
    """Simulate each outage with T * F^N, with R * T * F^N, and with MIN(R * T * F^N, M)."""
    plain = Formula(timeout, factor)
    spread = plain._replace(spread=SPREAD)
    capped = spread._replace(maximum=maximum)
    return [
        Comparison(
            recovered(seconds, plain),
            recovered(seconds, spread, clients, seed),
            recovered(seconds, capped, clients, seed),
        )
        for seconds in outage
    ]


def row(compared: Comparison) -> Cells:
    plain, spread, capped = compared
    outage = plain.outage
    return {
        "outage": text(seconds(outage)),
        "T*F^N | closed": text(seconds(plain.formula.noticed(outage))),
        "T*F^N | simul.": text(seconds(plain.last)),
        "T*F^N | ratio": f"{plain.last / outage:.2f}",
        "R*T*F^N | median": seconds(spread.median),
        "R*T*F^N | last": seconds(spread.last),
        "R*T*F^N | ratio": Shown(spread.last / outage, "{:.2f}"),
        "R*T*F^N | bound": text(seconds(spread.formula.bound(outage))),
        "MIN(R*T*F^N, M) | median": seconds(capped.median),
        "MIN(R*T*F^N, M) | last": seconds(capped.last),
        "MIN(R*T*F^N, M) | bound": text(seconds(capped.formula.bound(outage))),
        "gave up": sum(result.gave_up for result in compared),
    }


def seconds(number: float) -> Shown:
    """Show seconds with two decimal places below 10, and with one above; `never` for nan."""
    return Shown(None if isnan(number) else number, "{:.2f}" if number < 9.995 else "{:.1f}")


def picture(results: Sequence[Comparison]) -> Picture:
    formulas = "T·F^N", "R·T·F^N", "MIN(R·T·F^N, M)"
    label, x = "noticed after, in lengths of the outage", "length of the outage, s"
    panels, capped = list[Panel](), results[0].capped
    for title, some in zip(formulas, zip(*results, strict=True), strict=True):
        bounds = [("bound", one.outage, one.formula.bound(one.outage)) for one in some]
        lasts = [("last client", one.outage, one.last) for one in some]
        medians = [("median", one.outage, one.median) for one in some]
        lines = by_size((name, x, y / x) for name, x, y in (*bounds, *lasts, *medians))
        for name in "last client", "median":
            lines[name] = lines[name]._replace(style={**lines[name].style, "linestyle": ""})
        panels.append(Panel(label, lines, x, title, x_scale="log", limits=(0.9, 7.2)))
    headline = "How late the end of an outage is noticed: with a maximum M, at most M after its end"
    many, (t, f, r, m) = len(capped.noticed) + capped.gave_up, capped.formula
    note = f"""T: {t:g} s. F: {f:g}. N: 0, 1, 2, ... R: random, from 1 to {r:g}. M: {m:g} s.
{many:,} clients; without R, 1 (all do the same). Times are from the beginning of the outage."""
    return Picture(headline, [panels], (11.0, 4.5), note, shared=True)


EXPERIMENT = Experiment(recovery, row, picture)
