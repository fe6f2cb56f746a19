"""The server of the crash, on a socket: `python -m benchmarks.storm server`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from argparse import SUPPRESS, Namespace
from datetime import datetime
from math import inf
from pathlib import Path
from random import Random

from ixbackoff._argument_parser import FAILED, INTERRUPTED, WRONG, Parser
from ixbackoff.fleet import SlowingServer
from ixbackoff.fleet.services.slowing_server import OverflowingSleepers, Sleepers

from .descriptors import connections, end_with
from .durations import printed
from .flags import PATH, STATUS, add_duration, add_host, add_port, add_server, checked_host

HEAD_END = b"\r\n\r\n"
MOST_BYTES = 8192  # of a request
SILENT = 10.0  # seconds until a connection must have sent its request


def response(status: str, body: bytes) -> bytes:
    """Return a whole HTTP response.

    >>> response("200 OK", b"ok").splitlines()[0]
    b'HTTP/1.1 200 OK'
    """
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode("ascii") + body


WELL = response("200 OK", b"ok\n")
NOT_FOUND = response("404 Not Found", b"there is /api only\n")
BUSY = response("503 Service Unavailable", b"no place is left\n")


class Connection(asyncio.Protocol):
    """One request and its answer."""

    __slots__ = ("head", "server", "since", "transport")

    def __init__(self, server: RealServer) -> None:
        self.server = server
        self.head: bytes | None = b""
        self.transport: asyncio.Transport | None = None
        self.since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self.transport = transport
        self.server.connected(self)

    def data_received(self, data: bytes) -> None:
        if self.head is None:  # it has sent its request already
            return
        self.head += data
        if HEAD_END in self.head:
            words, self.head = self.head.split(None, 2), None
            self.server.asked(self, well=len(words) > 1 and words[1] == PATH.encode("ascii"))
        elif len(self.head) > MOST_BYTES:
            self.cut()

    def eof_received(self) -> None:
        """Close the connection: the client has gone; its request keeps its place."""

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.transport = None
        self.server.lost(self)

    def answer(self, whole: bytes) -> None:
        """Send a response, unless the client has gone."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(whole)
            self.transport.close()

    def cut(self) -> None:
        """Close the connection without a response."""
        if self.transport is not None:
            self.transport.abort()


class RealServer:
    """The state that connections share: the sleeping requests, and one alarm for all."""

    def __init__(self, model: SlowingServer, places: int, most: int) -> None:
        self.sleepers: Sleepers[Connection] = (
            OverflowingSleepers(model.delay, model.tick, Random())  # noqa: S311
            if model.int64
            else Sleepers(model.delay, model.tick)
        )
        self.tick = model.tick
        self.places = places
        self.most = most
        self.loop = asyncio.get_running_loop()
        self.silent: dict[Connection, None] = {}
        self.connections = 0
        self.any = False
        self.alarm = inf
        self.handle: asyncio.TimerHandle | None = None

    def connected(self, connection: Connection) -> None:
        self.connections += 1
        connection.since = self.loop.time()
        self.silent[connection] = None
        if self.connections > self.most:
            connection.cut()

    def lost(self, connection: Connection) -> None:
        self.connections -= 1
        self.silent.pop(connection, None)

    def asked(self, connection: Connection, well: bool) -> None:
        self.silent.pop(connection, None)
        self.any = True
        now = self.loop.time()
        self.end(now)
        if not well:
            connection.answer(NOT_FOUND)
        elif len(self.sleepers) >= self.places:
            connection.answer(BUSY)
        else:
            self.sleepers.admit(connection, now)
        self.look_later()

    def end(self, now: float) -> None:
        if now > self.alarm + self.tick:  # the process was stopped, or starved
            self.sleepers.overslept(self.alarm, now)
        for connection in self.sleepers.ended(now):
            connection.answer(WELL)

    def look_later(self) -> None:
        """Set the alarm to the time at which the next request may end."""
        overflowed = self.sleepers.delay < 0
        when = self.loop.time() if overflowed else self.sleepers.next()
        if when == self.alarm:
            return
        if self.handle is not None:
            self.handle.cancel()
        self.alarm = when
        self.handle = None if when == inf else self.loop.call_at(when, self.look)

    def look(self) -> None:
        self.end(self.loop.time())
        self.look_later()

    def line(self) -> str:
        """Return the line that is printed once a second."""
        now = datetime.now()
        delay = printed(self.sleepers.delay) if self.any else "0"
        time = f"{now:%b %d %H:%M:%S}.{now.microsecond // 1000:03d}"
        return f"{time}: concurrency: {len(self.sleepers):4d}, last delay: {delay}"

    async def tell(self) -> None:
        """Print the line once a second, and close connections that send nothing."""
        while True:
            print(self.line(), flush=True)
            await asyncio.sleep(1.0)
            late = self.loop.time() - SILENT
            for connection in [one for one in self.silent if one.since < late]:
                connection.cut()


async def serve(words: Namespace) -> None:
    loop = asyncio.get_running_loop()
    model = SlowingServer(
        words.limit, words.base, words.factor, backlog=words.backlog, int64=words.int64
    )
    real = RealServer(model, words.places, connections())
    listening = await loop.create_server(
        lambda: Connection(real), words.host, words.port, backlog=words.backlog
    )
    host, port = listening.sockets[0].getsockname()[:2]
    queue = min(words.backlog, somaxconn()) + 1
    telling = asyncio.create_task(real.tell())
    for number in signal.SIGTERM, signal.SIGINT:
        loop.add_signal_handler(number, telling.cancel)
    print(f"listening on {host}:{port}{PATH}, accept queue: {queue}", flush=True)
    async with listening:
        await asyncio.wait([telling], timeout=words.seconds)
    telling.cancel()


def somaxconn() -> int:
    """Return the longest accept queue that this kernel allows.

    >>> somaxconn() > 0
    True
    """
    try:
        return int(Path("/proc/sys/net/core/somaxconn").read_text())
    except (OSError, ValueError):
        return 128


def parsed(arguments: list[str] | None) -> Namespace:
    parser = Parser(
        prog="python -m benchmarks.storm server",
        description="A server that gets slower under load: up to --limit concurrent requests "
        "take --base seconds, and each 15 more take --factor times as long. A request whose client "
        "has gone keeps its place. Once a second it prints the number of requests.",
        epilog=STATUS,
    )
    add_host(parser)
    add_port(parser)
    add_duration(parser)
    add_server(parser)
    parser.add_argument("--parent", type=int, help=SUPPRESS)
    words = parser.parse_args(arguments)
    checked_host(parser, words)
    return words


def main(arguments: list[str] | None = None) -> int:
    words = parsed(arguments)
    if words.parent is not None and not end_with(words.parent):
        return FAILED
    try:
        asyncio.run(serve(words))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader of a pipe has ended
        return FAILED
    except OSError as error:
        code = error.errno or 0  # asyncio and the resolver write longer messages
        told = os.strerror(code) if code > 0 else error.strerror
        print(f"Cannot listen on {words.host}:{words.port}: {told}.", file=sys.stderr)
        return WRONG
    return 0
