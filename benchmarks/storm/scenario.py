"""The crash on sockets, from steady state to verdict: `python -m benchmarks.storm run`."""

from __future__ import annotations

import asyncio
import signal
import sys
from argparse import Namespace
from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

from ixbackoff._argument_parser import FAILED, INTERRUPTED, Parser, whole
from ixbackoff.fleet.seed_results import quantile

from ..experiments.crash import OUTAGE, STEADY, WARM, WATCH, recovers
from .client import Clients, Counts, checked_clients
from .durations import duration
from .flags import DAY, HOST, STATUS, add_client, add_port, add_server
from .processes import Died, NotStarted, ServerProcess, Told

EVERY = 0.05  # seconds between two measurements of the event loop's lag
LAG = 0.1  # seconds of lag above which a verdict says nothing about the server


class Storm(NamedTuple):
    """The measurements of a storm.

    Attributes:
        steady: requests that were answered per second, before the outage.
        rate: requests that took too long per second, in the last seconds of the outage.
        after: the server's line one second after SIGCONT.
        offset: the seconds after SIGCONT at which that line arrived.
        most: the largest concurrency in the server's lines after SIGCONT.
        well: requests that were answered in each second after SIGCONT.
        recovers: whether 90 % of the requests were answered in the last quarter of `well`.
        lag: the 99th percentile of the delays of the event loop's timers, seconds.
        judged: whether the lag is small enough for a verdict on the server.
    """

    steady: float
    rate: float
    after: Told
    offset: float
    most: int
    well: tuple[int, ...]
    recovers: bool
    lag: float = 0.0
    judged: bool = True

    def lines(self) -> list[str]:
        """Return the measurements in words."""
        verdict = "it recovers" if self.recovers else "it does not recover"
        if not self.judged:
            verdict = "none, this machine is too loaded to judge"
        return [
            f"steady: {self.steady:.1f} req/sec",
            f"end of the outage: {self.rate:.1f} timeouts/sec",
            f"{self.offset:.2f} s after SIGCONT: concurrency {self.after.concurrency}, "
            f"delay {self.after.delay:.3f} s; at most {self.most}",
            f"answered per second after SIGCONT: {' '.join(map(str, self.well))}",
            f"lag of the clients' event loop: {self.lag * 1000:.0f} ms at the 99th percentile",
            f"verdict: {verdict}",
        ]


class Scenario:
    """A running storm."""

    def __init__(self, words: Namespace, server: ServerProcess) -> None:
        self.words = words
        self.server = server
        self.clients = Clients(words, server.port)
        self.loop = asyncio.get_running_loop()
        self.asking = asyncio.create_task(self.clients.run())
        self.lags: list[float] = []
        self.timing = asyncio.create_task(self.measure_lag())

    async def measure_lag(self) -> None:
        """Measure how late the timers of the event loop are, again and again."""
        while True:
            due = self.loop.time() + EVERY
            await asyncio.sleep(EVERY)
            self.lags.append(self.loop.time() - due)

    async def run(self) -> Storm:
        """Run the steady state, the outage and the time after it."""
        words, server = self.words, self.server
        try:
            print(f"server: process {server.number}; steady for {words.steady} s", flush=True)
            steady = await self.seconds(words.steady)
            print(f"SIGSTOP, for {words.outage:g} s", flush=True)
            server.signal(signal.SIGSTOP)
            outage = await self.seconds(words.outage)
            print(f"SIGCONT, and watch for {words.watch} s", flush=True)
            resumed = self.loop.time()
            server.signal(signal.SIGCONT)
            watched = await self.seconds(words.watch)
        finally:
            self.asking.cancel()
            self.timing.cancel()
            await asyncio.wait([self.asking, self.timing])
        told, lag = server.told_since(resumed), quantile(self.lags, 0.99)
        return measured(steady, outage, watched, told, resumed)._replace(
            lag=lag, judged=lag <= words.most_lag
        )

    async def seconds(self, length: float) -> list[Counts]:
        """Count requests second by second, and print the client's line every 5 s.

        Raises:
            Died: the server has ended.
        """
        start = self.loop.time()
        before = last = self.clients.counts
        counts: list[Counts] = []
        for second in range(1, ceil(length) + 1):
            await self.server.lives(start + min(second, length) - self.loop.time())
            if self.asking.done():  # it never ends, unless it fails
                await self.asking
            now = self.clients.counts
            counts.append(now.since(before))
            before = now
            if second % 5 == 0:
                print(now.since(last).line(5.0), flush=True)
                last = now
        return counts


def measured(
    steady: Sequence[Counts],
    outage: Sequence[Counts],
    watched: Sequence[Counts],
    told: Sequence[Told],
    resumed: float,
) -> Storm:
    """Return the measurements of the counts and the server's lines.

    Raises:
        Died: the server printed nothing after SIGCONT.
    """
    if not told:
        raise Died("The server printed nothing after SIGCONT.")
    warm = WARM if len(steady) > 2 * WARM else 0
    before = mean([second.ok for second in steady[warm:]])
    after = min(told, key=lambda line: abs(line.when - resumed - 1.0))
    well = tuple(second.ok for second in watched)
    return Storm(
        steady=before,
        rate=mean([second.timed_out for second in outage[-5:]]),
        after=after,
        offset=after.when - resumed,
        most=max(line.concurrency for line in told),
        well=well,
        recovers=recovers(well, [second.errors + second.timed_out for second in watched]),
    )


def mean(numbers: Sequence[int]) -> float:
    """Return the mean; 0 without any numbers.

    >>> mean([1, 2])
    1.5
    """
    return sum(numbers) / max(1, len(numbers))


async def stormed(words: Namespace) -> Storm:
    """Run the whole storm, and end the server's process in any case."""
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    server = await ServerProcess.started(words, loud=words.verbose)
    try:
        return await Scenario(words, server).run()
    finally:
        await server.end()


def parsed(arguments: list[str] | None) -> Namespace:
    parser = Parser(
        prog="python -m benchmarks.storm run",
        description="The crash on real sockets: a server process and many clients on "
        "loopback; the server is stopped with SIGSTOP, resumed with SIGCONT, and watched.",
        epilog=STATUS + " The verdict on the server is printed, and does not change the status.",
    )
    add_port(parser)
    for name, seconds, read, what in (
        ("--steady", STEADY, whole(1, DAY), "whole seconds before SIGSTOP"),
        ("--outage", OUTAGE, duration(0.1, DAY), "between SIGSTOP and SIGCONT"),
        ("--watch", WATCH, whole(1, DAY), "whole seconds after SIGCONT"),
    ):
        parser.add_argument(
            name,
            type=read,
            default=seconds,
            metavar="SECONDS",
            help=f"{what} (default: %(default)s)",
        )
    parser.add_argument(
        "--most-lag",
        type=duration(0.0, DAY),
        default=LAG,
        metavar="SECONDS",
        help="the lag of the clients' event loop above which there is no verdict, at the 99th "
        "percentile (default: %(default)s)",
    )
    parser.add_argument("--verbose", action="store_true", help="show the server's lines, too")
    add_client(parser)
    add_server(parser)
    words = parser.parse_args(arguments)
    words.host = HOST
    checked_clients(parser, words)
    return words


def main(arguments: list[str] | None = None) -> int:
    words = parsed(arguments)
    try:
        storm = asyncio.run(stormed(words))
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("Interrupted; the server's process is ended.", file=sys.stderr)
        return INTERRUPTED
    except NotStarted as error:
        print(error, file=sys.stderr)
        return error.status
    except Died as error:
        print(error, file=sys.stderr)
        return FAILED
    except OSError as error:
        print(f"The storm has ended early: {error}.", file=sys.stderr)
        return FAILED
    print(*storm.lines(), sep="\n")
    return 0
