"""The model that explains recorded tries best: the discipline of its queue, and its workers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import exp, log, pi, sqrt
from operator import attrgetter, itemgetter
from statistics import fmean, median, pstdev
from typing import NamedTuple

from .recorded_tries import Try
from .undoing import KINDS, crowded

IDLE = 0.025  # the share of the usual work below which a try did none: clocks are not exact
OUTLIERS, NOTHING = 0.01, 0.001  # the share of works that may have any length, and their density
FEWEST, FACTOR = 30, log(1.25)  # the tries of a phase, and by how much its work differs at least
MOST, MANY, PATIENCE = 24, 50_000, 4  # workers; from so many tries on, stop after so many worse
NEAR = 10.0  # nats
VERSION = 1  # of saved models
CROWD = attrgetter("there")


class Candidate(NamedTuple):
    """A discipline and a number of workers, with what they say about the tries.

    Attributes:
        loss: minus the log-likelihood of all ends, in nats.
        works: the seconds of work, outside of the slow phases.
        phases: the begins, ends and factors of the slow phases.
        leak: by how much the work of tries among many is longer: 1 if the queue is undone.
        busy: the tries that found all workers at work.
    """

    kind: str
    workers: int
    loss: float
    works: list[float]
    phases: list[tuple[float, float, float]]
    leak: float
    busy: int


class Model(NamedTuple):
    """A fitted service; the times are those of its trace.

    Attributes:
        near: the candidates within 10 nats, the best first.
        limit: the crowd that refuses others; `None` if it is not known.
        fails: the share of tries that fail by chance.
        patience: the seconds after which clients leave, if they do.
        seen: the greatest crowd in the trace.
        blur: the takings and refusals on the wrong side of the limit, for each refusal.
        others: the tries that failed in another way than by a refusal or an impatient client.
        doubts: what speaks against the model.
    """

    near: list[Candidate]
    limit: int | None
    overhead: float
    fails: float
    status: int
    retry_after: float | None
    patience: float | None
    seen: int
    blur: float
    tries: int
    refused: int
    others: int
    arrivals: Sequence[float] = ()
    doubts: Sequence[str] = ()
    version: int = VERSION


def fitted(given: Sequence[Try], refusals: Sequence[str], leavings: Sequence[str]) -> Model:
    """Fit every model of the family to the tries, and choose.

    Raises:
        ValueError: there is nothing to fit.
    """
    tries = crowded(given, refusals)
    refused = [one for one in tries if one.failed_with(refusals)]
    overhead = median([one.seconds for one in refused]) if refused else 0.0
    taken = [
        one._replace(begun=min(one.begun + overhead, one.ended))
        for one in tries
        if not one.failed_with(refusals)
    ]
    calm = sorted((one for one in taken if one.failure is None), key=CROWD)
    if len(calm) < 2 * FEWEST:
        raise ValueError(f"{len(calm)} tries were answered: too few to fit anything.")
    usual = fmean(one.seconds for one in calm[: max(20, len(calm) // 10)])
    left = {index: usual for index, one in enumerate(taken) if one.failed_with(leavings)}
    asked = [one.retry_after for one in refused if one.retry_after is not None]
    limit, early, low, wrong = limit_of(taken, refused) if refused else (None, 0, 1, 0)
    seen = max(map(CROWD, taken)) + 1
    return Model(
        near=nearest(taken, left, usual, seen),
        limit=limit,
        overhead=overhead,
        fails=early / max(1, low),
        status=next((one.status for one in refused if one.status), 503),
        retry_after=median(asked) if 2 * len(asked) > len(refused) else None,
        patience=median(taken[i].seconds for i in left) if 100 * len(left) > len(tries) else None,
        seen=seen,
        blur=(wrong - early) / max(1, len(refused)),
        tries=len(tries),
        refused=len(refused),
        others=len(taken) - len(left) - len(calm),
    )


def limit_of(taken: Sequence[Try], refused: Sequence[Try]) -> tuple[int, int, int, int]:
    """Return the crowd that separates refused tries from others best.

    Also return the refusals and the tries far below it, and the number of tries on its wrong side.
    """

    def wrong(limit: int) -> int:
        late = sum(one.there >= limit for one in taken)
        return late + sum(one.there < limit for one in refused)

    best = min(range(1, max(map(CROWD, [*taken, *refused])) + 2), key=wrong)
    early = sum(one.there < 0.7 * best for one in refused)
    return best, early, early + sum(one.there < 0.7 * best for one in taken), wrong(best)


def nearest(
    taken: Sequence[Try], left: dict[int, float], usual: float, seen: int
) -> list[Candidate]:
    every = list[Candidate]()
    for kind in KINDS:
        worse = 0
        for workers in range(1, min(MOST, seen) + 1) if kind != "none" else [0]:
            found = candidate(taken, kind, workers, left, usual)
            if found is not None:
                every.append(found)
                worse = worse + 1 if found.loss > min(every, key=LOSS).loss + NEAR else 0
            if len(taken) > MANY and worse > PATIENCE:
                break
    if not every:
        raise ValueError("Most tries took no time, so there is no queue to undo.")
    every.sort(key=LOSS)
    return [one for one in every if one.loss <= every[0].loss + NEAR]


LOSS = attrgetter("loss")


def candidate(
    taken: Sequence[Try], kind: str, workers: int, left: dict[int, float], usual: float
) -> Candidate | None:
    """Undo the queue, and measure how well the works fit; `None` if half of them are idle."""
    works, rates = KINDS[kind](taken, workers, left)
    rows = [
        (one, work, rate)
        for index, (one, work, rate) in enumerate(zip(taken, works, rates, strict=True))
        if work > IDLE * usual and index not in left
    ]
    idle = len(taken) - len(left) - len(rows)
    if idle > len(rows):
        return None
    logs = [log(work) for _, work, _ in rows]
    pieces = cut(logs) if kind != "none" else [(0, len(logs), fmean(logs))]
    centred = [x - mean for a, b, mean in pieces for x in logs[a:b]]
    core = sorted(centred)[len(centred) // 50 : -len(centred) // 50 or None]
    width, middle = 1.15 * pstdev(core) or 0.01, median(core)
    loss = 2 * len(pieces) * log(len(rows)) - idle * log(NOTHING)
    for (_, work, rate), x in zip(rows, centred, strict=True):
        normal = exp(-(((x - middle) / width) ** 2) / 2) / (width * sqrt(2 * pi))
        loss -= log((1 - OUTLIERS) * normal * rate / work + NOTHING)  # the density of the end
    base = max(pieces, key=lambda piece: piece[1] - piece[0])[2]
    phases = [
        (rows[a][0].begun, rows[b - 1][0].begun, exp(mean - base))
        for a, b, mean in pieces
        if abs(mean - base) > FACTOR
    ]
    pairs = zip((one.there for one, *_ in rows), centred, strict=True)
    ordered = [x for _, x in sorted(pairs, key=itemgetter(0))]
    third = len(ordered) // 3
    leak = exp(fmean(ordered[-third:]) - fmean(ordered[:third]))
    busy = sum(one.there >= workers for one in taken)
    return Candidate(kind, workers, loss, [exp(x + base) for x in centred], phases, leak, busy)


def cut(logs: Sequence[float]) -> list[tuple[int, int, float]]:
    """Cut a series where its mean changes; return first and last indices, and means."""
    sums, squares = [0.0], [0.0]
    for x in logs:
        sums.append(sums[-1] + x)
        squares.append(squares[-1] + x * x)

    def spread(total: float, square: float, size: int) -> float:
        return max(square - total * total / size, 1e-9)

    def places(a: int, b: int) -> list[int]:
        """Return where to cut this piece: at both ends of the bump that explains most."""
        size, total, square = b - a, sums[b] - sums[a], squares[b] - squares[a]
        whole = spread(total, square, size)
        grid = range(a, b + 1, max(FEWEST, size // 80))
        best = whole, a, b
        for x in grid:
            for y in grid:
                if FEWEST <= y - x <= size - FEWEST:
                    part, inner = sums[y] - sums[x], squares[y] - squares[x]
                    rest = spread(total - part, square - inner, size - y + x)
                    best = min(best, (spread(part, inner, y - x) + rest, x, y))
        if size * log(whole / best[0]) <= 4 * log(len(logs)):
            return []
        ends = sorted({a, *best[1:], b})
        return ends[1:-1] + [place for piece in pairwise(ends) for place in places(*piece)]

    joined = list[tuple[int, int, float]]()
    for a, b in pairwise([0, *sorted(places(0, len(logs))), len(logs)]):
        start, mean = a, (sums[b] - sums[a]) / (b - a)
        if joined and abs(mean - joined[-1][2]) < FACTOR:
            start = joined.pop()[0]
            mean = (sums[b] - sums[start]) / (b - start)
        joined.append((start, b, mean))
    return joined
