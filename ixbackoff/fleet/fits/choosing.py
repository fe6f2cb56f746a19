"""The model that explains recorded tries best: the discipline of its queue, and its workers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import exp, log, pi, sqrt
from operator import itemgetter
from statistics import fmean, median, pstdev
from typing import NamedTuple

from .recorded_tries import Try
from .undoing import KINDS, crowded

IDLE = 0.025  # the share of the usual work below which a try did none: clocks are not exact
OUTLIERS, SPREAD = 0.01, 10.0  # the share of works that may have any length, seconds of them
FEWEST, FACTOR = 30, log(1.25)  # the tries of a phase, and how much its work differs at least
MOST, MANY, PATIENCE = 24, 50_000, 4  # workers; tries, from which on few worse ones are tried
NEAR = 10.0  # nats
CROWD = itemgetter(0)

Phase = tuple[float, float, float]
"""The seconds at which a slow phase begins and ends, and its factor."""


class Candidate(NamedTuple):
    """A discipline and a number of workers, with what they say about the tries.

    Attributes:
        loss: minus the log-likelihood of all ends, in nats.
        works: the seconds of work in the usual phase.
        leak: by how much the work of tries among many is longer: 1 if the queue is undone.
        busy: the tries that found all workers at work.
    """

    kind: str
    workers: int
    loss: float
    works: list[float]
    phases: list[Phase]
    leak: float
    busy: int


class Fit(NamedTuple):
    """What tries say about a service; `near` are the candidates within 10 nats, the best first.

    `sight` is the share of takings and refusals on the wrong side of the limit, per refusal.
    """

    near: list[Candidate]
    limit: int | None
    overhead: float
    fails: float
    seen: int
    blur: float
    refused: list[Try]
    left: list[Try]
    tries: list[Try]


def fitted(given: Sequence[Try], refusals: Sequence[str], leavings: Sequence[str]) -> Fit:
    """Fit every model of the family to the tries, and choose.

    Raises:
        ValueError: there is nothing to fit.
    """
    tries = crowded(given, refusals)
    refused = [one for one in tries if one.failed_with(refusals)]
    overhead = median([one.ended - one.begun for one in refused]) if refused else 0.0
    taken = [
        one._replace(begun=min(one.begun + overhead, one.ended))
        for one in tries
        if not one.failed_with(refusals)
    ]
    if len(taken) < 2 * FEWEST:
        raise ValueError(f"{len(taken)} tries were taken by the service: too few to fit anything.")
    seen = max(one.there for one in taken) + 1
    limit = best_limit(taken, refused) if refused else None
    fails = blur = 0.0
    if limit is not None:
        early = sum(one.there < 0.7 * limit for one in refused)
        low = early + sum(one.there < 0.7 * limit for one in taken)
        fails = early / max(1, low)
        blur = (wrong_side(limit, taken, refused) - early) / len(refused)
    left = {index for index, one in enumerate(taken) if one.failed_with(leavings)}
    calm = sorted((one for one in taken if one.failure is None), key=lambda one: one.there)
    usual = fmean([one.ended - one.begun for one in calm[: max(20, len(calm) // 10)]] or [0.0])
    known = dict.fromkeys(left, usual)
    every = list[Candidate]()
    for kind in KINDS:
        worse = 0
        for workers in range(1, min(MOST, seen) + 1) if kind != "none" else [0]:
            found = candidate(taken, kind, workers, known, usual)
            every += [found] if found else []
            best = min((one.loss for one in every), default=0.0)
            worse = worse + 1 if found and found.loss > best + NEAR else 0
            if len(taken) > MANY and worse > PATIENCE:
                break
    if not every:
        raise ValueError("Most tries took no time, so there is no queue to undo.")
    every.sort(key=lambda one: one.loss)
    near = [one for one in every if one.loss <= every[0].loss + NEAR]
    gone = [taken[index] for index in left]
    return Fit(near, limit, overhead, fails, seen, blur, refused, gone, tries)


def wrong_side(limit: int, taken: Sequence[Try], refused: Sequence[Try]) -> int:
    late = sum(one.there >= limit for one in taken)
    return late + sum(one.there < limit for one in refused)


def best_limit(taken: Sequence[Try], refused: Sequence[Try]) -> int:
    """Return the crowd that separates refused tries from others best."""
    limits = range(1, max(one.there for one in [*taken, *refused]) + 2)
    return min(limits, key=lambda limit: wrong_side(limit, taken, refused))


def candidate(
    taken: Sequence[Try], kind: str, workers: int, left: dict[int, float], usual: float
) -> Candidate | None:
    """Undo the queue, and measure how well the works fit; `None` if half of them are idle."""
    works, rates = KINDS[kind](taken, workers, left)
    whole = [index for index in range(len(taken)) if index not in left]
    rows = [index for index in whole if works[index] > IDLE * usual]
    if len(rows) < 0.5 * len(whole):
        return None
    logs = [log(works[index]) for index in rows]
    pieces = cut(logs) if kind != "none" else [(0, len(logs), fmean(logs))]
    centred = [x - mean for a, b, mean in pieces for x in logs[a:b]]
    core = sorted(centred)[len(centred) // 50 : -len(centred) // 50 or None]
    width, middle = 1.15 * pstdev(core) or 0.01, median(core)
    nothing = log(OUTLIERS / SPREAD)
    loss = -nothing * (len(whole) - len(rows)) + 2 * len(pieces) * log(len(rows))
    for index, x in zip(rows, centred, strict=True):
        normal = exp(-(((x - middle) / width) ** 2) / 2) / (width * sqrt(2 * pi))
        density = normal * rates[index] / works[index]  # of the end, not of the work
        loss -= log((1 - OUTLIERS) * density + OUTLIERS / SPREAD)
    base = max(pieces, key=lambda piece: piece[1] - piece[0])[2]
    phases = [
        (taken[rows[a]].begun, taken[rows[b - 1]].begun, exp(mean - base))
        for a, b, mean in pieces
        if abs(mean - base) > FACTOR
    ]
    ordered = sorted(zip((taken[index].there for index in rows), centred, strict=True), key=CROWD)
    third = max(1, len(ordered) // 3)
    leak = exp(fmean(x for _, x in ordered[-third:]) - fmean(x for _, x in ordered[:third]))
    busy = sum(one.there >= workers for one in taken)
    return Candidate(kind, workers, loss, [exp(x + base) for x in centred], phases, leak, busy)


def cut(logs: Sequence[float]) -> list[tuple[int, int, float]]:
    """Cut a series where its mean changes; return first and last indices, and means."""
    sums, squares = [0.0], [0.0]
    for x in logs:
        sums.append(sums[-1] + x)
        squares.append(squares[-1] + x * x)

    def pieces(a: int, b: int) -> list[int]:
        """Return where to cut this piece: at the two ends of the bump that explains most."""
        size, total = b - a, sums[b] - sums[a]
        square = squares[b] - squares[a]
        grid = range(a, b + 1, max(FEWEST, size // 80))
        best = (square - total * total / size, a, b)
        for x in grid:
            for y in grid:
                inside = y - x
                if inside >= FEWEST and size - inside >= FEWEST:
                    part = sums[y] - sums[x]
                    rest = total - part
                    spread = square - part * part / inside - rest * rest / (size - inside)
                    best = min(best, (spread, x, y))
        least, x, y = (max(best[0], 1e-9), *best[1:])
        gain = size * log(max(square - total * total / size, 1e-9) / least)
        if (x, y) == (a, b) or gain <= 4 * log(len(logs)):
            return []
        ends = sorted({a, x, y, b})
        inner = [pieces(u, v) for u, v in pairwise(ends) if v - u < size]
        return [*ends[1:-1], *(place for places in inner for place in places)]

    ends = [0, *sorted(pieces(0, len(logs))), len(logs)]
    joined = list[tuple[int, int, float]]()
    for a, b in pairwise(ends):
        mean = (sums[b] - sums[a]) / (b - a)
        if joined and abs(mean - joined[-1][2]) < FACTOR:
            a = joined.pop()[0]
            mean = (sums[b] - sums[a]) / (b - a)
        joined.append((a, b, mean))
    return joined
