"""Loopback services with a queue, and real clients whose observer writes JSON lines.

`python -m benchmarks.fitted_services NAME PORT` serves until it is terminated; with a folder it
runs the clients. Work is slept, not computed, so it needs hardly any processor.
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from heapq import heappop, heappush
from math import log
from pathlib import Path
from random import Random
from time import monotonic
from typing import NamedTuple

from ixbackoff import N0, N3, Constant, Exponential, RetryBudget, ServerError, backoff
from ixbackoff.observing import json_observer, observed

SLOW, FACTOR = (33.8, 42.8), 1.8  # seconds since a service began, 1 s before the trace
STEP, RATES = 15.0, (15, 30, 45, 60, 20, 20, 50, 35)
"""The trace has each of these rates, in runs per second, for `STEP` seconds."""
SECONDS = 12.0
"""The length of a what-if, in seconds."""


class Truth(NamedTuple):
    """A service: each of its `replicas` holds `limit` requests at most; `mean` is in seconds."""

    kind: str
    workers: int
    limit: int
    mean: float
    sigma: float
    replicas: int = 1


TRUTHS = {
    "fifo 4": Truth("fifo", 4, 16, 0.08, 0.6),
    "ps 4": Truth("ps", 4, 16, 0.08, 0.6),
    "ps 8": Truth("ps", 8, 16, 0.15, 0.3),
    "fifo 2": Truth("fifo", 2, 8, 0.05, 1.0),
    "replicas": Truth("fifo", 2, 8, 0.08, 0.6, replicas=2),
    "lifo": Truth("lifo", 4, 16, 0.08, 0.6),
}


class Queue:
    """One queue: `fifo`, `lifo`, or `ps`, whose workers are cores that all requests share."""

    def __init__(self, truth: Truth, draw: Random) -> None:
        self.truth, self.draw, self.begun = truth, draw, monotonic()
        self.here = self.working = self.number = 0
        self.waiting: deque[asyncio.Future[None]] = deque()
        self.done, self.since = 0.0, monotonic()
        self.ends: list[tuple[float, int, asyncio.Future[None]]] = []
        self.timer: asyncio.TimerHandle | None = None

    def work(self) -> float:
        slow = FACTOR if SLOW[0] <= monotonic() - self.begun < SLOW[1] else 1.0
        sigma = self.truth.sigma
        return slow * self.draw.lognormvariate(log(self.truth.mean) - sigma * sigma / 2, sigma)

    async def served(self) -> bool:
        if self.here >= self.truth.limit:
            return False
        self.here += 1
        try:
            await (self.shared() if self.truth.kind == "ps" else self.in_turn())
        finally:
            self.here -= 1
        return True

    async def in_turn(self) -> None:
        if self.working >= self.truth.workers:
            turn = asyncio.get_running_loop().create_future()
            self.waiting.append(turn)
            await turn
        else:
            self.working += 1
        await asyncio.sleep(self.work())
        if self.waiting:
            waiting = self.waiting
            (waiting.pop() if self.truth.kind == "lifo" else waiting.popleft()).set_result(None)
        else:
            self.working -= 1

    async def shared(self) -> None:
        end = asyncio.get_running_loop().create_future()
        self.catch_up()
        self.number += 1
        heappush(self.ends, (self.done + self.work(), self.number, end))
        self.plan()
        await end

    def rate(self) -> float:
        return min(1.0, self.truth.workers / max(1, len(self.ends)))

    def catch_up(self) -> None:
        now = monotonic()
        self.done, self.since = self.done + (now - self.since) * self.rate(), now

    def plan(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        if self.ends:
            left = max(0.0, self.ends[0][0] - self.done) / self.rate()
            self.timer = asyncio.get_running_loop().call_later(left, self.end)

    def end(self) -> None:
        self.catch_up()
        while self.ends and self.ends[0][0] <= self.done + 1e-9:
            heappop(self.ends)[2].set_result(None)
        self.plan()


async def serve(truth: Truth, port: int) -> None:
    draw = Random(7)  # noqa: S311
    queues = [Queue(truth, draw) for _ in range(truth.replicas)]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            status = b"200 OK" if await draw.choice(queues).served() else b"503 Busy"
            head = b"HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            writer.write(head % status)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", port, backlog=500) as server:
        await server.serve_forever()


async def ask(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        status = int((await reader.readline()).split()[1])
        if status != 200:
            raise ServerError(status)
    finally:
        writer.close()


Fetch = Callable[[], Awaitable[None]]


def policies(port: int) -> dict[str, Fetch]:
    """Make the clients of the trace, and those of the what-ifs."""

    async def plain() -> None:
        await ask(port)

    async def in_a_hurry() -> None:
        async with asyncio.timeout(0.3):
            await ask(port)

    return {
        "base": backoff(N3, schedule=Exponential(0.1))(plain),
        "none": backoff(N0)(plain),
        "fast": backoff(N3, schedule=Constant(0.02))(plain),
        "slow": backoff(N3, schedule=Exponential(0.5))(plain),
        "budget": backoff(N3, schedule=Exponential(0.1), budget=RetryBudget(10))(plain),
        "timeout": backoff(N3, schedule=Exponential(0.1))(in_a_hurry),
    }


WHAT_IFS = {
    "base 75": ("base", 75),
    "none 60": ("none", 60),
    "fast 60": ("fast", 60),
    "slow 60": ("slow", 60),
    "budget 60": ("budget", 60),
    "base 25": ("base", 25),
    "timeout 40": ("timeout", 40),
}


async def load(
    fetch: Fetch, rates: list[tuple[float, float]], file: Path, seed: int
) -> list[float]:
    """Begin runs at these rates, for these seconds; return how late each of them began."""
    draw, loop, tasks = Random(seed), asyncio.get_running_loop(), set[asyncio.Task[None]]()  # noqa: S311
    late = list[float]()

    async def one() -> None:
        with suppress(ServerError, TimeoutError, ConnectionError):
            await fetch()

    with file.open("w") as lines, observed(json_observer(lines)):
        end = at = loop.time()
        for rate, seconds in rates:
            end += seconds
            while (at := at + draw.expovariate(rate)) < end:
                await asyncio.sleep(max(0.0, at - loop.time()))
                late.append(loop.time() - at)
                tasks.add(asyncio.create_task(one()))
            at = end
        await asyncio.sleep(max(0.0, end - loop.time()))
        await asyncio.wait(tasks, timeout=20)
    return late


async def record(folder: Path, port: int, what_ifs: bool, seed: int = 11) -> list[float]:
    """Record the trace, and what really happens in each what-if."""
    folder.mkdir(parents=True, exist_ok=True)
    fetches = policies(port)
    rates = [(float(rate), STEP) for rate in RATES]
    late = await load(fetches["base"], rates, folder / "trace.jsonl", seed)
    for number, (name, (policy, rate)) in enumerate(WHAT_IFS.items() if what_ifs else ()):
        await asyncio.sleep(1)
        file = folder / f"{name}.jsonl"
        late += await load(fetches[policy], [(float(rate), SECONDS)], file, seed + number + 1)
    return late


def main(name: str, port: str, folder: str = "", what_ifs: str = "") -> None:
    if not folder:
        asyncio.run(serve(TRUTHS[name], int(port)))
        return
    late = sorted(asyncio.run(record(Path(folder), int(port), bool(what_ifs))))
    typical, most = late[len(late) // 2], late[len(late) * 99 // 100]
    text = f"runs began {typical * 1e3:.1f} ms late in the median, 1 % {most * 1e3:.0f} ms or more"
    (Path(folder) / "done").write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
