"""The model that explains recorded tries best: the discipline of its queue, and its workers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from math import exp, inf, log
from operator import attrgetter, itemgetter
from statistics import NormalDist, fmean, median, pstdev
from typing import NamedTuple

from .queue_inversion import KINDS, crowded
from .recorded_tries import Try

IDLE = 0.025  # less than this share of the usual work counts as none: clocks are not exact
# OUTLIERS: the share of tries that follow no distribution. NOTHING: what they add to a likelihood.
OUTLIERS, NOTHING = 0.01, 1e-4
FEWEST, FACTOR = 30, log(1.25)  # of a phase: the fewest tries, the least change of mean log work
# From MOST workers on, or above MANY tries, PATIENCE + 1 worse fits in a row end the search.
MOST, MANY, PATIENCE = 24, 50_000, 4
NEAR = 10.0  # nats: a fit is kept if its loss exceeds the least loss by no more than this
LOW = 0.7  # a refusal below this share of the limit counts as a failure by chance
VERSION = 1  # of saved models
CROWD, LOSS = attrgetter("there"), attrgetter("loss")


class Candidate(NamedTuple):
    """A discipline and a number of workers, and how well they explain the tries."""

    kind: str
    workers: int
    loss: float  # nats: minus the log-likelihood of the tries' ends, plus a price for each phase
    works: list[float]  # seconds; the effect of the phases is removed
    phases: list[tuple[float, float, float]]  # begin, end, and the factor of all work meanwhile
    leak: float  # mean work when crowded, divided by that when calm: 1 if the queue explains delays
    busy: int  # the tries that found all workers at work


class Model(NamedTuple):
    """A fitted service; `arrivals` and phases are on the clock of its trace."""

    near: list[Candidate]  # within 10 nats, the best first
    limit: int | None  # the number of tries in the service that makes it refuse the next one
    overhead: float  # seconds of a try in which it neither queues nor is worked on
    fails: float  # the share of tries that fail by chance
    retry_after: float | None
    patience: float | None  # the seconds after which clients abandon a try
    seen: int  # the most tries in the service at a time
    blur: float  # tries taken beyond the limit or refused shortly below it, per refusal
    tries: int
    others: int  # the tries that failed, but were neither refused nor abandoned by their client
    arrivals: Sequence[float] = ()
    doubts: Sequence[str] = ()
    version: int = VERSION


def fitted(given: Sequence[Try], refusals: Sequence[str], leavings: Sequence[str]) -> Model:
    """Fit each kind of queue, with each number of workers, to the tries; keep the best fits.

    Raises:
        ValueError: there is nothing to fit.
    """
    overhead = median([one.seconds for one in given if one.failed_with(refusals)] or [0.0])
    reached = [one._replace(begun=min(one.begun + overhead, one.ended)) for one in given]
    tries = crowded(reached, refusals)
    refused = [one for one in tries if one.failed_with(refusals)]
    taken = [one for one in tries if not one.failed_with(refusals)]
    calm = sorted((one for one in taken if one.failure is None), key=CROWD)
    if len(calm) < 2 * FEWEST:
        raise ValueError(f"{len(calm)} tries were answered: too few to fit anything.")
    usual = fmean(one.seconds for one in calm[: max(20, len(calm) // 10)])
    left = {index: usual for index, one in enumerate(taken) if one.failed_with(leavings)}
    asked = [one.retry_after for one in refused if one.retry_after is not None]
    full, free = (sorted(one.there for one in some) for some in (refused, taken))
    seen = free[-1] + 1

    def wrong(limit: int) -> int:
        return len(free) - bisect_left(free, limit) + bisect_left(full, limit)

    limit = min(range(1, max(full, default=0) + 2), key=wrong)
    early, low = (bisect_left(some, LOW * limit) for some in (full, free))
    return Model(
        nearest(taken, left, usual, seen),
        limit if refused else None,
        overhead,
        early / max(1, early + low),
        median(asked) if 2 * len(asked) > len(refused) else None,
        median(taken[index].seconds for index in left) if 100 * len(left) > len(tries) else None,
        seen,
        (wrong(limit) - early) / len(refused) if refused else 0.0,
        len(tries),
        len(taken) - len(left) - len(calm),
    )


def nearest(
    taken: Sequence[Try], left: Mapping[int, float], usual: float, seen: int
) -> list[Candidate]:
    every = list[Candidate]()
    for kind in KINDS:
        best, worse = inf, 0
        for workers in range(1, seen + 1) if kind != "none" else [0]:
            found = candidate(taken, kind, workers, left, usual)
            if found is not None:
                every.append(found)
                worse = 0 if found.loss < best else worse + 1
                best = min(best, found.loss)
            if worse > PATIENCE and (len(taken) > MANY or workers >= MOST):
                break
    if not every:
        raise ValueError("Most tries took no time, so there is no queue to undo.")
    every.sort(key=LOSS)
    return [one for one in every if one.loss <= every[0].loss + NEAR]


def candidate(
    taken: Sequence[Try], kind: str, workers: int, left: Mapping[int, float], usual: float
) -> Candidate | None:
    """Undo the queue and fit a distribution to the works; `None` if most tries did no work."""
    undone = zip(taken, *KINDS[kind](taken, workers, left), strict=True)
    rows = [row for index, row in enumerate(undone) if row[1] > IDLE * usual and index not in left]
    idle = len(taken) - len(left) - len(rows)
    if idle > len(rows):
        return None
    logs = [log(work) for _, work, _ in rows]
    pieces = cut(logs) if kind != "none" else [(0, len(logs), fmean(logs))]
    centred = [x - mean for a, b, mean in pieces for x in logs[a:b]]
    core = sorted(centred)[len(centred) // 50 : -len(centred) // 50]
    normal = NormalDist(median(core), 1.15 * pstdev(core) or 0.01)
    loss = 2 * len(pieces) * log(len(rows)) - idle * log(NOTHING)
    for (_, work, rate), x in zip(rows, centred, strict=True):
        density = normal.pdf(x) * rate * usual / work  # the end's density: `rate` is d(work)/d(end)
        loss -= log((1 - OUTLIERS) * density + NOTHING)
    base = max(pieces, key=lambda piece: piece[1] - piece[0])[2]
    phases = [
        (rows[a][0].begun, rows[b - 1][0].begun, exp(mean - base))
        for a, b, mean in pieces
        if abs(mean - base) > FACTOR
    ]
    ordered = sorted(zip([one.there for one, *_ in rows], centred, strict=True), key=itemgetter(0))
    third = len(ordered) // 3
    few, many = (fmean(x for _, x in some) for some in (ordered[:third], ordered[-third:]))
    busy = sum(one.there >= workers for one in taken)
    works = [exp(x + base) for x in centred]
    return Candidate(kind, workers, loss, works, phases, exp(many - few), busy)


def cut(logs: Sequence[float]) -> list[tuple[int, int, float]]:
    """Cut a series where its mean changes; join like pieces; return their begins, ends and means.

    The cuts minimize the sum of squared differences from the means, plus a price for each cut.
    """
    sums, squares = ([0.0, *accumulate(x**power for x in logs)] for power in (1, 2))
    noise = fmean((x - y) ** 2 for x, y in pairwise(logs)) / 2 + 1e-9
    places = [*range(0, len(logs) - FEWEST, max(FEWEST, len(logs) // 150)), len(logs)]

    def spread(a: int, b: int) -> float:
        return (squares[b] - squares[a] - (sums[b] - sums[a]) ** 2 / (b - a)) / noise

    cheapest = [(0.0, 0)]  # the least price up to each place, and the index of the cut before it
    for index, b in enumerate(places[1:], 1):
        prices = (cheapest[i][0] + spread(places[i], b) for i in range(index))
        price, last = min((price, i) for i, price in enumerate(prices))
        cheapest.append((price + 2 * log(len(logs)), last))
    ends, index = list[int](), len(places) - 1
    while index:
        ends.insert(0, places[index])
        index = cheapest[index][1]
    joined = list[tuple[int, int, float]]()  # joins a piece to the last if means differ by < FACTOR
    for a, b in pairwise([0, *ends]):
        start, mean = a, (sums[b] - sums[a]) / (b - a)
        if joined and abs(mean - joined[-1][2]) < FACTOR:
            start = joined.pop()[0]
            mean = (sums[b] - sums[start]) / (b - start)
        joined.append((start, b, mean))
    return joined
