"""A service that allows a number of requests a second, and a clock that skips the waits.

Both are in one event loop: its clock jumps to the next timer as soon as no socket has anything to
read, so clients and the service see the same time, and a batch of a minute takes a second.
"""

from __future__ import annotations

import asyncio
import math
from asyncio import StreamReader, StreamWriter
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from http import HTTPStatus
from random import uniform
from selectors import DefaultSelector, SelectorKey
from typing import Any, TypeVar

A = TypeVar("A")
GRACE = 0.001
"""The seconds that bytes may take from one socket of this machine to another one."""


class Skipping(DefaultSelector):
    """A selector whose clock jumps to the next timer."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        if timeout is None:
            return super().select()
        ready = super().select(min(timeout, GRACE))
        if not ready:
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self.skipping = Skipping()
        super().__init__(self.skipping)

    def time(self) -> float:
        return self.skipping.now


def run_virtually(main: Callable[[], Coroutine[Any, Any, A]]) -> A:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main())


class Limited:
    """A service that allows `rate` requests in any second.

    It answers them after 0.05 to 0.15 seconds, and all others after up to 0.02 seconds.

    Attributes:
        answered: the number of requests that it allowed.
        refused: the number of requests that it answered with 429.
        url: its URL.
    """

    def __init__(self, rate: int, body: bytes, headers: Callable[[float], str]):
        self.rate, self.body, self.headers = rate, body, headers
        self.answered = self.refused = self._connections = 0
        self.url = ""
        self._allowed: deque[float] = deque()

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        server = await asyncio.start_server(self._serve, "127.0.0.1")
        self.url = "http://127.0.0.1:{1}".format(*server.sockets[0].getsockname())
        async with server:
            yield
            while self._connections:  # which the clients have closed
                await asyncio.sleep(0.01)

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._connections += 1
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode().lower():
                await reader.readexactly(int(head.partition("content-length: ")[2].split()[0]))
                writer.write(await self._answer())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._connections -= 1
            writer.close()

    async def _answer(self) -> bytes:
        now = asyncio.get_running_loop().time()
        while self._allowed and self._allowed[0] <= now - 1:
            self._allowed.popleft()
        if len(self._allowed) < self.rate:
            self._allowed.append(now)
            self.answered += 1
            await asyncio.sleep(uniform(0.05, 0.15))  # noqa: S311
            return response(200, "", self.body)
        self.refused += 1
        await asyncio.sleep(uniform(0, 0.02))  # noqa: S311
        now = asyncio.get_running_loop().time()
        return response(429, self.headers(max(0.001, self._allowed[0] + 1 - now)), b"{}")


def response(status: int, headers: str, body: bytes) -> bytes:
    first = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
    rest = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    return (first + rest).encode() + body


def silent(_: float) -> str:
    return ""


def retry_after(seconds: float) -> str:
    return f"Retry-After: {math.ceil(seconds)}\r\n"


def reset(seconds: float) -> str:
    """Say when, as OpenAI does."""
    milliseconds = math.ceil(seconds * 1000)
    return f"x-ratelimit-remaining-requests: 0\r\nx-ratelimit-reset-requests: {milliseconds}ms\r\n"
