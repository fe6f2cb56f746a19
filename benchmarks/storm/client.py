"""The clients of the crash, on sockets: `python -m benchmarks.storm client`."""

from __future__ import annotations

import asyncio
import random
from argparse import Namespace
from contextlib import suppress
from itertools import count
from typing import NamedTuple

from ixbackoff import Delay, Now, ServerError
from ixbackoff._argument_parser import INTERRUPTED, Parser
from ixbackoff.schedules import Schedule

from ..experiments.crash import Get, PostShipped, asking, backoffs
from .descriptors import connections
from .dials import Dials
from .flags import PATH, STATUS, add_client, add_duration, add_host, add_port, checked_host

EVERY = 5.0
MOST_BYTES = 8192


class Counts(NamedTuple):
    """Counts of requests: answered, failed, and timed out.

    >>> Counts(5, 1, 0).since(Counts(2, 1, 0)).line(1.5)
    'OK: 2.00 req/sec, errors: 0.00 req/sec, timedout: 0.00 req/sec'
    """

    ok: int
    errors: int
    timed_out: int

    def since(self, before: Counts) -> Counts:
        """Return the difference to earlier counts."""
        return Counts(*(now - then for now, then in zip(self, before, strict=True)))

    def line(self, seconds: float) -> str:
        """Return the rates per second, in the words of the article's program."""
        ok, errors, timed_out = (count / seconds for count in self)
        return (
            f"OK: {ok:.2f} req/sec, errors: {errors:.2f} req/sec, timedout: {timed_out:.2f} req/sec"
        )


class Clients:
    """Many clients of one server; each runs a program by `run_async`, or the article's loop."""

    def __init__(self, words: Namespace, port: int) -> None:
        self.host: str = words.host
        self.port = port
        self.number: int = words.clients
        self.think: float = words.think
        self.timeout: float = words.timeout
        self.program = asking(words.timeout)
        self.schedule: Schedule | None = backoffs(words.wait).get(words.backoff)
        self.shipped = PostShipped(words.think)
        self.dials = Dials(words.host, port, words.lingering, connections() - self.number)
        self.request = (
            f"GET {PATH} HTTP/1.1\r\nHost: {self.host}:{port}\r\nConnection: close\r\n\r\n"
        ).encode("ascii")
        self.ok = self.errors = self.timed_out = 0

    @property
    def counts(self) -> Counts:
        return Counts(self.ok, self.errors, self.timed_out)

    async def run(self) -> None:
        """Run all clients until the task is cancelled."""
        one = self.as_shipped if self.schedule is None else self.one
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self.number):
                    group.create_task(one())
        finally:
            await self.dials.end()

    async def as_shipped(self) -> None:
        """Run one client as the article's program does.

        Its waits can shorten, so `run_async` refuses them: this is a plain loop.
        """
        while True:
            waits = self.shipped.begin()
            for k in count():
                await asyncio.sleep(waits(k))
                with suppress(OSError, ServerError):
                    async with asyncio.timeout(self.timeout):
                        await self.ask(Get())
                    break

    async def one(self) -> None:
        """Run one client, which thinks, and then asks until it is answered."""
        loop = asyncio.get_running_loop()
        interpreter = (
            Get.awaited_by(self.ask)
            | Delay.awaited_by(lambda wait: asyncio.sleep(wait.seconds))
            | Now.handled_by(lambda _: loop.time())
        )
        while True:
            await asyncio.sleep(random.expovariate(1.0 / self.think))
            await self.program.run_async(interpreter, schedule=self.schedule)

    async def ask(self, _: Get) -> None:
        """Send one request over a connection of its own."""
        writer: asyncio.StreamWriter | None = None
        try:
            reader, writer = await self.dials.connection()
            writer.write(self.request)
            words = (await reader.read(MOST_BYTES)).split(None, 2)
            status = int(words[1]) if len(words) > 1 else 0
        except asyncio.CancelledError:
            self.timed_out += 1
            raise
        except (OSError, ValueError) as error:
            self.errors += 1
            raise ConnectionError(f"no answer: {error}") from error
        finally:
            if writer is not None:
                writer.close()
        if status != 200:
            self.errors += 1
            raise ServerError(status) if status else ConnectionError("the server hung up")
        self.ok += 1


async def ask_for(words: Namespace) -> None:
    """Run the clients as long as the command line says."""
    clients = Clients(words, words.port)
    asking = asyncio.create_task(clients.run())
    loop = asyncio.get_running_loop()
    end = loop.time() + words.seconds
    try:
        while (left := end - loop.time()) > 0 and not asking.done():
            before, start = clients.counts, loop.time()
            await asyncio.wait([asking], timeout=min(EVERY, left))
            print(clients.counts.since(before).line(loop.time() - start), flush=True)
        if asking.done():
            await asking
    finally:
        asking.cancel()
        await asyncio.wait([asking])


def checked_clients(parser: Parser, words: Namespace) -> None:
    """Check that this process may have a connection for each client."""
    most = connections()
    if words.clients > most:
        parser.error(f"--clients {words.clients}: this process may have {most} connections")


def parsed(arguments: list[str] | None) -> Namespace:
    parser = Parser(
        prog="python -m benchmarks.storm client",
        description="Many clients of one server. Each thinks for a while and asks, over new "
        "connections, until it is answered, with a wait after each failure. Every 5 seconds the "
        "command prints the rates of answered, failed and timed out requests.",
        epilog=STATUS,
    )
    add_host(parser)
    add_port(parser)
    add_duration(parser)
    add_client(parser)
    words = parser.parse_args(arguments)
    checked_host(parser, words)
    checked_clients(parser, words)
    return words


def main(arguments: list[str] | None = None) -> int:
    try:
        asyncio.run(ask_for(parsed(arguments)))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe has ended
        return 1
    return 0
