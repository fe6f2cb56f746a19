"""Connections that are dialled for requests, and go to the request that has waited longest."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TypeAlias

Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Dials:
    """Dials to one address, which continue when their requests are abandoned, as in Go's client.

    Each connection is given to the request that has waited longest, or closed if none waits.

    Args:
        host: the name or the IP address of the server.
        port: its TCP port.
        lingering: seconds after which a dial ends; with 0 it ends with its request.
        most: the number of dials that may continue without their requests; the oldest ones end.
    """

    def __init__(self, host: str, port: int, lingering: float, most: int) -> None:
        self.host = host
        self.port = port
        self.lingering = lingering
        self.most = most
        self.waiting: deque[asyncio.Future[Streams]] = deque()
        self.abandoned: dict[asyncio.Task[None], None] = {}
        self.dialling: set[asyncio.Task[None]] = set()

    async def connection(self) -> Streams:
        """Return a connection for a request, which may have been dialled for another one.

        Raises:
            OSError: the server refuses the connection, or the dial has ended after `lingering`.
        """
        if not self.lingering:
            return await asyncio.open_connection(self.host, self.port)
        wanted: asyncio.Future[Streams] = asyncio.get_running_loop().create_future()
        self.waiting.append(wanted)
        dialling = asyncio.create_task(self.dial(wanted))
        self.dialling.add(dialling)
        dialling.add_done_callback(self.dialled)
        try:
            return await wanted
        except asyncio.CancelledError:
            if wanted.done() and not wanted.cancelled() and wanted.exception() is None:
                wanted.result()[1].close()  # it arrived just when the request was abandoned
            if not dialling.done():
                self.abandoned[dialling] = None
            if len(self.abandoned) > self.most:
                oldest = next(iter(self.abandoned))
                del self.abandoned[oldest]
                oldest.cancel()
            raise

    def dialled(self, dialling: asyncio.Task[None]) -> None:
        self.dialling.discard(dialling)
        self.abandoned.pop(dialling, None)

    async def dial(self, wanted: asyncio.Future[Streams]) -> None:
        """Dial for a request; if the dial fails, a request that still waits fails, too."""
        try:
            async with asyncio.timeout(self.lingering):
                streams = await asyncio.open_connection(self.host, self.port)
        except OSError as error:  # TimeoutError is one
            if not wanted.done():
                wanted.set_exception(error)
            return
        while self.waiting:
            longest = self.waiting.popleft()
            if not longest.done():
                longest.set_result(streams)
                return
        streams[1].close()

    async def end(self) -> None:
        dialling = list(self.dialling)
        for dial in dialling:
            dial.cancel()
        await asyncio.gather(*dialling, return_exceptions=True)
