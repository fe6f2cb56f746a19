"""The delay until clients notice that an outage is over, in closed form and simulated.

The waits are MIN(R * T * F^N, M) of "Exponential Backoff in Distributed Systems" (Douglas Thain,
2009), with and without R and M.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, inf, isnan, log, log10
from statistics import median
from typing import Any, NamedTuple

from ixbackoff import N20, Command, Constant, Exponential, at
from ixbackoff.fleet import BoundedQueue, Outage, simulate
from ixbackoff.schedules import Schedule

from ..._argument_parser import Flag, number, whole
from ..drawing import Graph, Panel, Picture
from ..reports import Numbers
from .experiment import Cells, Experiment, row_by_row

OUTAGES = (0.5, 1.1, 5.0, 10.0, 30.0, 31.5, 60.0, 120.0, 300.0, 600.0)
LENGTHS = number(1e-3, 86_400)  # seconds
CLIENTS = 1000
SPREAD = 2.0  # R is uniform between 1 and this


class Reach(Command[None]):
    __slots__ = ()


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
        """Return the time of the first retry after an outage, if R is 1."""
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
        at(N20).retry(Reach()),
        BoundedQueue(length=0, work=0.0, workers=clients).serves(Reach),
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
    outages: Iterable[float] = OUTAGES,
    *,
    timeout: float = 1.0,
    factor: float = 2.0,
    maximum: float = 60.0,
    clients: int = CLIENTS,
    seed: int = 0,
) -> list[Comparison]:
    """Simulate each outage with T * F^N, with R * T * F^N, and with MIN(R * T * F^N, M)."""
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


def row(compared: Comparison) -> Cells:
    plain, spread, capped = compared
    outage = plain.outage
    return {
        "outage": seconds(outage),
        "T*F^N | closed": seconds(plain.formula.noticed(outage)),
        "T*F^N | simul.": seconds(plain.last),
        "T*F^N | ratio": f"{plain.last / outage:.2f}",
        "R*T*F^N | median": seconds(spread.median),
        "R*T*F^N | last": seconds(spread.last),
        "R*T*F^N | ratio": f"{spread.last / outage:.2f}",
        "R*T*F^N | bound": seconds(spread.formula.bound(outage)),
        "MIN(R*T*F^N, M) | median": seconds(capped.median),
        "MIN(R*T*F^N, M) | last": seconds(capped.last),
        "MIN(R*T*F^N, M) | bound": seconds(capped.formula.bound(outage)),
        "gave up": sum(result.gave_up for result in compared),
    }


def seconds(number: float) -> str:
    """Return seconds with two decimal places below 10, and with one above; `never` for nan."""
    if isnan(number):
        return "never"
    return f"{number:.2f}" if number < 9.995 else f"{number:.1f}"


POINTS = 2000
STYLES: Mapping[str, Mapping[str, Any]] = {
    "T·F^N": {"color": "#0072b2", "marker": "o", "linestyle": "--"},
    "R·T·F^N": {"color": "#d55e00", "marker": "s", "linestyle": "-."},
    "MIN(R·T·F^N, M)": {"color": "#009e73", "marker": "^", "linestyle": ":"},
}
"""The style of each formula: the line of its bound, and the markers of its simulations."""


def picture(results: Sequence[Comparison]) -> Picture:
    """Draw closed forms as lines, last clients as filled points, and medians as hollow points."""
    lengths = [compared.plain.outage for compared in results]
    least, most = log10(min(lengths)) - 0.1, log10(max(lengths)) + 0.1
    along = [10 ** (least + (most - least) * point / POINTS) for point in range(POINTS + 1)]
    lines: dict[str, Graph] = {}
    for column, (name, style) in enumerate(STYLES.items()):
        some = [compared[column] for compared in results]
        formula = some[0].formula
        points = {**style, "linestyle": ""}
        bounds = [formula.bound(length) / length for length in along]
        lines[f"{name}: bound"] = Graph(along, bounds, {**style, "marker": ""})
        lasts = [result.last / result.outage for result in some]
        lines[f"{name}: last client"] = Graph(lengths, lasts, points)
        if formula.spread == 1:
            noticed = [formula.noticed(length) / length for length in along]
            how = {"color": style["color"], "alpha": 0.6}
            lines[f"{name}: closed"] = Graph(along, noticed, how)
        else:
            medians = [result.median / result.outage for result in some]
            hollow = {**points, "markerfacecolor": "none"}
            lines[f"{name}: median"] = Graph(lengths, medians, hollow)
    panel = Panel(
        "noticed after, in lengths of the outage",
        lines,
        x="length of the outage, s",
        x_scale="log",
        limits=(0.9, 6),
    )
    headline = "How late the end of an outage is noticed"
    return Picture(headline, [[panel]], inches=(9.0, 5.0), legend=3)


def numbers(compared: Comparison) -> tuple[str, Numbers]:
    formulas = {"R*T*F^N": compared.spread, "MIN(R*T*F^N, M)": compared.capped}
    return f"{compared.plain.outage:6g}", {
        f"{formula:15}  {name}": None if isnan(number) else number
        for formula, result in formulas.items()
        for name, number in {"median": result.median, "last": result.last}.items()
    }


EXPERIMENT = Experiment(
    "When clients notice that an outage is over, with the waits T * F^N, R * T * F^N and "
    "MIN(R * T * F^N, M), for R uniform between 1 and 2: in closed form, and simulated.",
    recovery,
    [
        Flag("outage", OUTAGES, LENGTHS, "the length of an outage", "SECONDS", "outages"),
        Flag("timeout", 1.0, number(1e-3, 3600), "T, seconds", "T"),
        Flag("factor", 2.0, number(1.1, 10), "F", "F"),
        Flag("maximum", 60.0, number(1e-3, 1e6), "M, seconds", "M"),
        Flag("clients", CLIENTS, whole(1, 100_000), "the number of clients"),
    ],
    row_by_row(row),
    picture,
    numbers,
)
