"""Services whose truth is known, simulated without the package: traces to fit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from math import inf, log
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from ixbackoff.fleet.fits.recorded_tries import Try

STEPS = tuple((15.0, rate) for rate in (15, 30, 45, 60, 20, 20, 50, 35))
"""The seconds of a load, and its runs per second."""


class Truth(NamedTuple):
    """A service; `limit` is for each of its replicas, and `slow` a begin, an end and a factor."""

    kind: str = "fifo"  # or "lifo", or "ps": the workers are cores that all requests share
    workers: int = 4
    limit: int = 16
    mean: float = 0.08
    sigma: float = 0.6
    replicas: int = 1
    fails: float = 0.0
    slow: tuple[float, float, float] = (0.0, 0.0, 1.0)


class Served:
    """One queue: the seconds of work that are left of each request, and those that wait."""

    def __init__(self, truth: Truth, draw: Random) -> None:
        self.truth, self.draw, self.now = truth, draw, 0.0
        self.left: dict[int, float] = {}
        self.waiting: list[int] = []

    def rate(self) -> float:
        shares = self.truth.kind == "ps" and len(self.left) > self.truth.workers
        return self.truth.workers / len(self.left) if shares else 1.0

    def next_end(self) -> tuple[float, int]:
        if not self.left:
            return inf, 0
        first = min(self.left, key=self.left.__getitem__)
        return self.now + self.left[first] / self.rate(), first

    def advance(self, now: float) -> None:
        step = (now - self.now) * self.rate()
        self.left = {number: left - step for number, left in self.left.items()}
        self.now = now

    def start(self, number: int) -> None:
        mean, sigma, (begin, end, factor) = self.truth.mean, self.truth.sigma, self.truth.slow
        work = self.draw.lognormvariate(log(mean) - sigma * sigma / 2, sigma)
        self.left[number] = work * (factor if begin <= self.now < end else 1.0)

    def takes(self, number: int, now: float) -> bool:
        self.advance(now)
        if len(self.left) + len(self.waiting) >= self.truth.limit:
            return False
        if self.truth.kind == "ps" or len(self.left) < self.truth.workers:
            self.start(number)
        else:
            self.waiting.append(number)
        return True

    def end(self, number: int, now: float) -> None:
        self.advance(now)
        del self.left[number]
        if self.waiting:
            self.start(self.waiting.pop(-1 if self.truth.kind == "lifo" else 0))


def arriving(load: Iterable[tuple[float, float]], draw: Random) -> list[float]:
    times, begin = list[float](), 0.0
    for seconds, rate in load:
        time, begin = begin, begin + seconds
        while (time := time + draw.expovariate(rate)) < begin:
            times.append(time)
    return times


def tries_of(
    truth: Truth, seed: int = 1, load: Iterable[tuple[float, float]] = STEPS, retries: int = 3
) -> list[Try]:
    """Let clients use the service; they retry after 0.1, 0.2, 0.4 s."""
    draw = Random(seed)  # noqa: S311
    agenda = [(time, 0, str(run)) for run, time in enumerate(arriving(load, draw))]
    heapify(agenda)
    services = [Served(truth, draw) for _ in range(truth.replicas)]
    ended, taken = list[Try](), list[tuple[str, float]]()
    while True:
        end, number, service = min(
            ((*one.next_end(), one) for one in services), key=lambda three: three[:2]
        )
        if agenda and agenda[0][0] <= end:
            now, failed, run = heappop(agenda)
            if draw.random() >= truth.fails and draw.choice(services).takes(
                len(taken), now + 0.0005
            ):
                taken.append((run, now))
                continue
            ended.append(Try(run, now, now + 0.001, "ServerError", 503))
            if failed < retries:
                heappush(agenda, (now + 0.001 + 0.1 * 2**failed, failed + 1, run))
        elif end < inf:
            service.end(number, end)
            run, begun = taken[number]
            ended.append(Try(run, begun, end + 0.0005))
        else:
            return sorted(ended, key=lambda one: one.begun)


def events(tries: Iterable[Try], process: str = "p") -> list[dict[str, Any]]:
    """Write the tries as `json_observer` does."""
    lines, known = list[dict[str, Any]](), set[str]()
    for one in tries:
        both = {"process": process, "run": one.run, "name": "get"}
        if one.run not in known:
            known.add(one.run)
            lines.append({"event": "Began", "t": one.begun, **both})
        line = {"event": "Answered", "t": one.ended, **both, "seconds": one.seconds}
        lines.append(line | ({"failure": one.failure, "status": one.status} if one.failure else {}))
    return lines


def spans(tries: Iterable[Try], kind: int = 3) -> list[dict[str, Any]]:
    """Write the tries as an HTTP client's instrumentation does, with a span around each run."""
    found, runs = list[dict[str, Any]](), dict[str, list[Try]]()
    for one in tries:
        runs.setdefault(one.run, []).append(one)
    for run, some in runs.items():
        found.append(span(f"run {run}", "", some[0].begun, some[-1].ended))
        for number, one in enumerate(some):
            made = span(f"try {run} {number}", f"run {run}", one.begun, one.ended)
            attributes = [
                {"key": "http.request.method", "value": {"stringValue": "GET"}},
                {"key": "server.address", "value": {"stringValue": "books"}},
                {"key": "http.response.status_code", "value": {"intValue": one.status or 200}},
            ]
            if number:
                count = {"key": "http.request.resend_count", "value": {"intValue": str(number)}}
                attributes.append(count)
            found.append({**made, "kind": kind, "attributes": attributes})
    return found


def span(own: str, parent: str, begun: float, ended: float) -> dict[str, Any]:
    times = {"startTimeUnixNano": round(begun * 1e9), "endTimeUnixNano": round(ended * 1e9)}
    return {"spanId": own, "parentSpanId": parent, **{key: str(at) for key, at in times.items()}}


def otlp(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": [*found]}]}]}


def written(file: Path, lines: Iterable[dict[str, Any]]) -> Path:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file
