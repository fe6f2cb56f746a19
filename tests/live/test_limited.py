"""One limiter for many threads and tasks, as a server on loopback counts their requests."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import NamedTuple
from urllib.request import urlopen

import aiohttp
import pytest

from ixbackoff import N3, Limiter, at, backoff, call_async, do
from ixbackoff.live import live_async

from ..support.processes import Child
from ..support.servers.turns import rate_holds

LATE = 0.3
"""Seconds by which a request may arrive after its turn, on a busy machine."""


class Counted:
    """A web server that notes when requests arrive; it throttles one, if it is asked to.

    Attributes:
        url: its address.
        times: when each arrived, on the clock `time.monotonic`.
        throttled: when it answered 429, with `Retry-After`; 0 if it has not.
    """

    def __init__(self, throttles: int, retry_after: int) -> None:
        self.url = ""
        self.times: list[float] = []
        self.throttled = 0.0
        self.throttles, self.retry_after = throttles, retry_after

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readline():
            while (await reader.readline()).strip():
                pass
            self.times.append(time.monotonic())
            answer = "200 OK\r\n"
            if len(self.times) == self.throttles:
                self.throttled = time.monotonic()
                answer = f"429 Too Many Requests\r\nRetry-After: {self.retry_after}\r\n"
            writer.write(f"HTTP/1.1 {answer}Content-Length: 0\r\n\r\n".encode())
        writer.close()


@contextmanager
def counted(throttles: int = 0, retry_after: int = 0) -> Generator[Counted]:
    """Run the server in a thread of its own."""
    made, ready, loop = Counted(throttles, retry_after), threading.Event(), asyncio.new_event_loop()

    async def serve() -> None:
        server = await asyncio.start_server(made.serve, "127.0.0.1", 0, backlog=1024)
        made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        ready.set()
        with suppress(asyncio.CancelledError):
            await server.serve_forever()

    def run() -> None:
        serving.append(loop.create_task(serve()))
        loop.run_until_complete(serving[0])

    serving: list[asyncio.Task[None]] = []
    thread = threading.Thread(target=run)
    thread.start()
    ready.wait(10)
    try:
        yield made
    finally:
        loop.call_soon_threadsafe(serving[0].cancel)
        thread.join()
        loop.close()


def asked_by_threads(limiter: Limiter, threads: int, requests: int, throttles: int = 0) -> Counted:
    """Ask a server, which throttles for 2 s if it does."""

    @backoff(N3, through=limiter)
    def ask(url: str) -> None:
        with urlopen(url) as answer:  # noqa: S310
            answer.read()

    with counted(throttles, retry_after=2) as server, ThreadPoolExecutor(threads) as pool:
        list(pool.map(ask, [server.url] * requests))
    return server


class AtOnce(NamedTuple):
    """What is asked at the same time, since it mostly waits: without a pause, and with one."""

    unpaused: Future[Counted]
    paused: dict[float | None, Future[Counted]]


@pytest.fixture(scope="module")
def at_once() -> Generator[AtOnce]:
    with ThreadPoolExecutor(3) as pool:
        yield AtOnce(
            pool.submit(asked_by_threads, Limiter(100, line=60), 64, 300),
            {
                tries: pool.submit(asked_by_threads, Limiter(tries, line=60), 16, 150, 40)
                for tries in (100, None)
            },
        )


@pytest.mark.slow
def test_64_threads_keep_the_rate_of_one_limiter(at_once: AtOnce) -> None:
    server = at_once.unpaused.result()
    assert len(server.times) == 300
    assert rate_holds(server.times, 100, LATE)


@pytest.mark.slow
@pytest.mark.parametrize("tries", [100, None])
def test_a_pause_that_one_thread_hears_is_a_pause_of_all(
    tries: float | None, at_once: AtOnce
) -> None:
    server = at_once.paused[tries].result()
    late = [at - server.throttled for at in server.times if at > server.throttled + LATE]
    assert len(server.times) == 151
    assert late[0] >= 2 - 0.05
    assert rate_holds(late, 100, LATE)


@pytest.mark.slow
def test_1000_tasks_keep_the_rate_of_one_limiter() -> None:
    limiter = Limiter(300, line=60)

    async def all_of_them(url: str) -> None:
        async with aiohttp.ClientSession() as session:

            async def ask() -> None:
                async with session.get(url) as answer:
                    await answer.read()

            program = at(N3).retry(do(call_async(ask)).through(limiter))
            await asyncio.gather(*[program.run_async(live_async()) for _ in range(1000)])

    with counted() as server:
        asyncio.run(all_of_them(server.url))
        assert len(server.times) == 1000
        assert rate_holds(server.times, 300, LATE)


IN_LINE = """
import asyncio
from ixbackoff import N0, Limiter, at, call
from ixbackoff.live import live, live_async

limiter = Limiter(0.01, line=1000)
page = at(N0).do(call(int))
{run}
print("in line", flush=True)
try:
    {run}
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(
    "run",
    [
        "page.run(live(), through=limiter)",
        "asyncio.run(page.run_async(live_async(), through=limiter))",
    ],
    ids=["sync", "asyncio"],
)
def test_ctrl_c_ends_a_line(run: str) -> None:
    program = [sys.executable, "-c", IN_LINE.format(run=run)]
    with Child(program, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "in line\n"
        time.sleep(0.3)  # for the try to stand there
        begun = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.stdout.read() == "interrupted\n"
        assert child.wait() == 0
        assert time.monotonic() - begun < 20
