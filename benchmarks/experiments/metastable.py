"""Whether a server comes back from an outage if its clients retry: stable, vulnerable, metastable.

The server does 300 requests/s; the rates of arrivals are 10 % below and above the boundary
300 / (1 + retries), and above its capacity. The three states are those of "Metastable Failures in
Distributed Systems" (Bronson and others, HotOS 2021); "Metastable Failures in the Wild" (Huang and
others, OSDI 2022) adds that a vulnerable system survives small outages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Annotated, Any, NamedTuple

from ixbackoff import N0, N1, N2, N3, N4, Constant, at, do
from ixbackoff._argument_parser import number, whole
from ixbackoff.fleet import BoundedQueue, Outage, simulate

from ..drawing import Panel, Picture, by_second
from .experiment import Ask, Cells, Experiment, Watched

CAPACITY = 300  # requests/s
LIMIT = 1.0  # seconds that a client waits for an answer; then it retries immediately
QUEUE = 10_000  # places
RUNGS: tuple[Any, ...] = (N0, N1, N2, N3, N4)
STEADY = 40
HEALTHY = 0.8  # the share of the arrivals that succeeds, before an outage, in a working system


class Load(NamedTuple):
    retries: int
    rate: int  # the clients that arrive per second
    outage: float  # its length, seconds
    outcome: str
    watched: Watched


def boundary(retries: int) -> float:
    """Return the greatest rate of arrivals that is stable, in closed form.

    While every client exhausts its retries, 1 + `retries` requests arrive for each client. The
    queue of late requests shrinks only if the server can do more.
    """
    return CAPACITY / (1 + retries)


def metastable(
    retries: Annotated[Iterable[int], whole(0, 4), "the retries of a client"] = (0, 1, 2, 4),
    *,
    outage: Annotated[Iterable[float], number(0.1, 3600), "an outage", "SECONDS"] = (1.0, 10.0),
    watch: Annotated[int, whole(10, 3600), "whole seconds after the outage", "SECONDS"] = 120,
    seed: int = 0,
) -> list[Load]:
    """Simulate 10 % below and above the boundary, and above the capacity, with each outage."""
    results: list[Load] = []
    for many in retries:
        rates = 0.9 * boundary(many), 1.1 * boundary(many), 1.1 * CAPACITY
        for rate in sorted({*map(round, rates)}):
            outages = {length: simulated(many, rate, length, watch, seed) for length in outage}
            stable = all(watched.recovered is not None for watched in outages.values())
            for length, watched in outages.items():
                if watched.before < HEALTHY * rate:
                    outcome = "down from the start"
                elif watched.recovered is None:
                    outcome = "metastable"
                else:
                    outcome = "stable" if stable else "vulnerable, recovers"
                results.append(Load(many, rate, length, outcome, watched))
    return results


def simulated(retries: int, rate: int, outage: float, watch: int, seed: int) -> Watched:
    stopped = Outage(STEADY, outage)
    outcome = simulate(
        at(RUNGS[retries]).retry(do(Ask()).limit(LIMIT)),
        BoundedQueue(QUEUE, 1 / CAPACITY).serves(Ask),
        arrivals=rate,
        seconds=STEADY + outage + watch,
        schedule=Constant(0.0),
        outages=[stopped],
        seed=seed,
    )
    return Watched(outcome, stopped)


def row(result: Load) -> Cells:
    return {
        "retries": result.retries,
        "boundary/s": f"{boundary(result.retries):.0f}",
        "arrivals/s": result.rate,
        f"an outage of | {result.outage:g} s": result.outcome,
    }


def picture(results: Sequence[Load]) -> Picture:
    """Draw the fewest retries; the rate above the boundary has a panel for each of two outages."""
    fewest = min((result.retries for result in results if result.retries), default=0)
    some = [result for result in results if result.retries == fewest]
    short, long = (end(result.outage for result in some) for end in (min, max))
    low, high = sorted({result.rate for result in some})[:2]
    drawn = {(result.rate, result.outage): result for result in some}
    panels: list[Panel] = []
    for kind in (low, long), (high, short), (high, long), (some[-1].rate, short):
        result = drawn[kind]
        seconds = result.watched.outcome.seconds
        lines = {
            "requests": [one.asked for one in seconds],
            "answered in time": result.watched.well,
            "capacity": [CAPACITY] * len(seconds),
        }
        title = f"{result.outcome}: {result.rate} arrivals/s, {result.outage:g} s of outage"
        down = "the server is down", result.watched.stopped.span
        panels.append(Panel("per second", by_second(lines), title=title, outage=down))
    again = "one retry" if fewest == 1 else f"{fewest} retries"
    headline = (
        f"A server of {CAPACITY} requests/s, clients with {again} after {LIMIT:g} s: four outcomes"
    )
    above = f"{CAPACITY} / (1 + {fewest}) = {boundary(fewest):g}"
    note = f"""In time: within {LIMIT:g} s. vulnerable: works, but above {above} arrivals/s an
outage can tip it over. metastable: one did. The two rows have different scales."""
    return Picture(headline, [panels[:2], panels[2:]], (11.0, 6.0), note, shared=True)


EXPERIMENT = Experiment(metastable, row, picture, names=3, average=median)
