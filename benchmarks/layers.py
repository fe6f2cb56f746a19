"""Retries in three services, each in a process of its own: the tables and the picture of a page.

`python -m benchmarks.layers [RUNS]` prints the tables of `docs/layers.md`: a user asks a gateway,
the gateway a service, the service a database, and each of the first three makes up to four tries.
`python -m benchmarks.layers picture FOLDER` prints and draws the last table, and
`python -m benchmarks.layers cost` measures what a middleware costs a call that does not fail.
"""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import httpx

from ixbackoff import N3, DeadlineExceeded, backoff
from ixbackoff._limits.served_requests import beginning
from ixbackoff._words.try_header import Trying
from tests.support.servers.ports import free_port

from .drawing import Graph, Panel, Picture, by_second, draw
from .measuring import Target, interleaved
from .service_layers import DATABASE, GATEWAY, SERVICE, USER, WAYS, Settings, asking

CASES: Mapping[str, Mapping[str, float]] = {
    "the database fails 20 %": {"p": 0.2},
    "the database fails 50 %": {"p": 0.5},
    "the database is down": {"p": 1.0},
    "the database fails 50 %, and is asked 3 times": {"p": 0.5, "fan": 3},
    "the database fails 50 %, the user sends POST, and services answer 500": {
        "p": 0.5,
        "post": 1,
        "status": 500,
    },
    "the database hangs, and each request has a timeout of 0.5 s": {"hang": 3.0, "patience": 0.5},
}
USUAL = {"p": 0.0, "hang": 0.0, "fan": 1, "patience": 30.0, "status": 503, "post": 0}
BEFORE, DOWN, AFTER, RATE = 2, 10, 3, 2  # seconds, and users a second
OUTAGES = ("none", "answer", "answer, time", "mark, once", "mark, last", "finagle", "stretched")


class Row(NamedTuple):
    """The runs of the user in one way: the share that succeeds, and what they cost."""

    way: str
    well: float
    requests: dict[str, float]
    millis: float

    def __str__(self) -> str:
        asked = "".join(f"{number:10.2f}" for number in self.requests.values())
        return f"{self.way:13}{self.well:9.1%}{asked}{self.millis:9.0f}"


class Services:
    """The three services, and the clients of the user."""

    def __init__(self, urls: Mapping[str, str]) -> None:
        self.urls = urls
        self.user = Settings()
        self.asking = {way: asking(USER, way, urls[GATEWAY], self.user) for way in WAYS}

    async def set(self, case: Mapping[str, float]) -> None:
        """Change what the services do, and forget their requests."""
        async with httpx.AsyncClient() as client:
            for name, url in self.urls.items():
                given = {**USUAL, **case}
                if name != DATABASE:
                    given |= {"p": 0.0, "hang": 0.0}
                if name != SERVICE:
                    given["fan"] = 1
                await client.get(f"{url}/-/set", params=given)
        for name, value in {**USUAL, **case}.items():
            setattr(self.user, name, value)

    async def asked(self) -> dict[str, list[float]]:
        async with httpx.AsyncClient() as client:
            return {
                name: (await client.get(f"{url}/-/asked")).json() for name, url in self.urls.items()
            }

    async def run(self, way: str) -> tuple[float, bool]:
        begun = time.monotonic()
        try:
            await self.asking[way]()
        except (httpx.HTTPError, DeadlineExceeded):
            return time.monotonic() - begun, False
        return time.monotonic() - begun, True

    async def measured(self, way: str, case: Mapping[str, float], runs: int) -> Row:
        """Measure runs of four users at once."""
        await self.set(case)
        numbers, ends = iter(range(runs)), list[tuple[float, bool]]()

        async def user() -> None:
            for _ in numbers:
                ends.append(await self.run(way))

        await asyncio.gather(*[user() for _ in range(4)])
        asked, before = await self.asked(), None
        while case.get("hang") and asked != before:  # layers may retry after the user has given up
            await asyncio.sleep(1.0)
            before, asked = asked, await self.asked()
        requests = {name: len(times) / runs for name, times in asked.items()}
        well = sum(good for _, good in ends) / runs
        return Row(way, well, requests, 1000 * median(seconds for seconds, _ in ends))


class Outage(NamedTuple):
    """Runs that begin at a fixed rate while the database is down for some seconds."""

    way: str
    well: list[float]
    during: float
    requests: list[float]

    def __str__(self) -> str:
        users, down = RATE * DOWN, self.requests[BEFORE : BEFORE + DOWN]
        share = sum(self.well) / (RATE * (BEFORE + DOWN + AFTER))
        return (
            f"{self.way:13}{share:9.1%}{self.during:11.1%}{sum(down) / users:10.2f}"
            f"{max(down) / RATE:10.1f}"
        )


async def outage(services: Services, way: str) -> Outage:
    await services.set({})
    begun, ends = time.monotonic(), list[tuple[float, bool]]()
    times: list[float] = []

    async def one(at: float) -> None:
        _, good = await services.run(way)
        ends.append((at, good))

    async def change(p: float) -> None:
        times.extend((await services.asked())[DATABASE])
        await services.set({"p": p})

    tasks: list[asyncio.Task[None]] = []
    for number in range(RATE * (BEFORE + DOWN + AFTER)):
        at = number / RATE
        await asyncio.sleep(max(0.0, begun + at - time.monotonic()))
        if at in (BEFORE, BEFORE + DOWN):
            await change(float(at == BEFORE))
        tasks.append(asyncio.create_task(one(at)))
    await asyncio.gather(*tasks)
    times += (await services.asked())[DATABASE]
    span = range(BEFORE + DOWN + AFTER)
    well = [float(sum(good for at, good in ends if s <= at < s + 1)) for s in span]
    requests = [float(sum(s <= at - begun < s + 1 for at in times)) for s in span]
    during = sum(well[BEFORE : BEFORE + DOWN]) / (RATE * DOWN)
    return Outage(way, well, during, requests)


@contextmanager
def services() -> Generator[Services]:
    """Start the three services, each in a process, and end them."""
    urls = {name: f"http://127.0.0.1:{free_port()}" for name in (GATEWAY, SERVICE, DATABASE)}
    below = {GATEWAY: urls[SERVICE], SERVICE: urls[DATABASE], DATABASE: ""}
    with ExitStack() as stack:
        for name, url in urls.items():
            words = [name, url.rpartition(":")[2], below[name]]
            command = [sys.executable, "-m", "benchmarks.service_layers", *words]
            process = stack.enter_context(subprocess.Popen(command))  # noqa: S603
            stack.callback(process.terminate)
        for url in urls.values():
            wait_for(url)
        yield Services(urls)


def wait_for(url: str) -> None:
    for _ in range(1000):
        try:
            httpx.get(f"{url}/-/asked")
        except httpx.ConnectError:
            time.sleep(0.02)
        else:
            return


async def lines(used: Services, runs: int) -> Any:
    """Yield the lines of all tables."""
    names = (GATEWAY, SERVICE, DATABASE)
    for title, case in CASES.items():
        heads = "".join(f"{name:>10}" for name in names)
        yield f"{title}\n{'way':13}{'succeed':>9}{heads}{'ms':>9}"
        for way in list(WAYS)[:-1]:
            fewer = 4 if "hang" in case else max(4, runs // 8) if case["p"] == 1.0 else runs
            yield str(await used.measured(way, case, fewer))


async def printed(used: Services, runs: int) -> None:
    async for line in lines(used, runs):
        print(line, flush=True)
    await outages(used)


async def outages(used: Services) -> list[Outage]:
    """Print the table of the outage, and return its rows."""
    print(f"the database is down for {DOWN} s, with {RATE} users a second")
    print(f"{'way':13}{'succeed':>9}{'in outage':>11}{'database':>10}{'peak':>10}")
    rows: list[Outage] = []
    for way in OUTAGES:
        rows.append(await outage(used, way))
        print(rows[-1], flush=True)
    return rows


NAMES = {
    "none": "none: all three retry",
    "mark, last": "mark, last: the inner ones in the last try",
    "answer, time": "answer, time: only the lowest",
    "stretched": "stretched: only the lowest, longer waits",
}
"""The ways of the picture: which layers retry."""


def picture(measured: list[Outage]) -> Picture:
    span = ("the database is down", (float(BEFORE), float(BEFORE + DOWN)))

    def lines(values: Callable[[Outage], list[float]]) -> dict[str, Graph]:
        drawn = by_second({one.way: values(one) for one in measured if one.way in NAMES})
        return {NAMES[way]: line for way, line in drawn.items()}

    asked, saved = lines(lambda one: one.requests), lines(lambda one: one.well)
    panels = [
        [Panel("requests/s at the database", asked, scale="symlog", outage=span)],
        [Panel("runs/s that succeed, by start", saved, outage=span)],
    ]
    down = slice(BEFORE, BEFORE + DOWN)
    most = {one.way: f"{max(one.requests[down]):.0f}" for one in measured}
    some = {one.way: f"{sum(one.well[down]):.0f}" for one in measured}
    headline = (
        "One layer with longer waits saves about as many runs as three, "
        f"with {most['stretched']} requests/s instead of {most['none']}"
    )
    note = f"""Three layers above the database, each with up to four tries; measured once.
{RATE * DOWN} runs begin in the outage: {some["stretched"]} succeed with stretched, {some["none"]} \
with none. the last try: the layer above has no try after it.
answer: "do not retry". time: the seconds left. mark: "the layer above retries"."""
    return Picture(headline, panels, (11.0, 6.0), note, shared=True)


ALONE = """
import time, timeit, ixbackoff
{}
f = ixbackoff.backoff(ixbackoff.N3)(lambda: None)
print(min(timeit.repeat(f, timer=time.process_time, number=20_000, repeat=25)))
"""


def targets() -> Iterator[Target]:
    """Measure a call in processes that have loaded a middleware, but use none, and in others."""
    least, ways = [1.0, 1.0], ("", "import ixbackoff.middleware, ixbackoff.clients.marks")
    for _ in range(15):
        for place, loaded in enumerate(ways):
            command = [sys.executable, "-c", ALONE.format(loaded)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
            least[place] = min(least[place], float(done.stdout))
    detail = " to ".join(f"{seconds / 20_000 * 1e9:.0f}" for seconds in least)
    ratio = least[1] / least[0]
    yield Target("a call with no middleware, before and after", ratio, 1.01, False, f"{detail} ns")


def costs() -> Iterator[str]:
    """Measure a call that does not fail: outside of a request, and inside of one."""
    f = backoff(N3)(lambda: None)

    def calls() -> None:
        for _ in range(20_000):
            f()

    yield from map(str, targets())
    [plain] = interleaved([calls], 31)
    yield f"no middleware: {plain / 20_000 * 1e9:.0f} ns a call"
    begin = beginning("nested", False)
    for name, said in {
        "installed": None,
        "in a request": Trying(),
        "in one with left": Trying(left=99.0),
    }.items():
        with ExitStack() as stack:
            if said is not None:
                stack.enter_context(begin("GET /", said).inside())
            [seconds] = interleaved([calls], 5)
        yield f"{name}: {seconds / 20_000 * 1e9:.0f} ns a call"


def main(words: list[str]) -> int:
    logging.disable(logging.CRITICAL)
    if words[:1] == ["cost"]:
        print(*costs(), sep="\n")
        return 0
    with services() as used:
        if words[:1] == ["picture"]:
            draw(picture(asyncio.run(outages(used))), "services", Path(words[1]))
        else:
            asyncio.run(printed(used, int(words[0]) if words else 80))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
