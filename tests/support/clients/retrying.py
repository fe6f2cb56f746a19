"""Clients with a backoff inside, as users make them: each by its library, sync or in a loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import aiohttp
import httpx
import httpx2
import pytest
import requests
import trio

from ixbackoff import Backoff, NotReady
from ixbackoff.clients import adapter, middleware, transport

from .web import TRUSTED


class Reply(NamedTuple):
    """The answer of a client."""

    status: int
    body: bytes


@dataclass
class Asked:
    """A request; `chunks` is a body that can be iterated over once.

    Attributes:
        begun: how often the body was iterated over.
        timeout: the seconds for each connection and each read.
    """

    method: str
    url: str
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    chunks: Sequence[bytes] = ()
    timeout: float = 10.0
    begun: int = 0

    def plain(self) -> Any:
        return self.generator() if self.chunks else self.body

    def awaited(self) -> Any:
        return self.generator_async() if self.chunks else self.body

    def generator(self) -> Iterator[bytes]:
        self.begun += 1
        yield from self.chunks

    async def generator_async(self) -> AsyncIterator[bytes]:
        self.begun += 1
        for chunk in self.chunks:
            yield chunk


class Failed(NotReady):
    """An answer with an error status, as a function around a client raises it."""


def checked(reply: Reply) -> Reply:
    if reply.status >= 400:
        raise Failed(str(reply.status))
    return reply


@dataclass(frozen=True)
class SyncLibrary:
    """A library with sync clients: how to make a client with a backoff, and how to ask with it."""

    name: str
    opened: Callable[[Backoff[Any]], AbstractContextManager[Any]]
    asked: Callable[[Any, Asked], Reply]
    awaits = False

    def ask(self, backoff: Backoff[Any], asked: Asked) -> Reply:
        with self.opened(backoff) as client:
            return self.asked(client, asked)

    def ask_at_once(self, backoff: Backoff[Any], several: Sequence[Asked]) -> list[Reply]:
        with self.opened(backoff) as client, ThreadPoolExecutor(len(several)) as pool:
            return list(pool.map(lambda asked: self.asked(client, asked), several))

    def ask_inside(self, outer: Backoff[Any], backoff: Backoff[Any], asked: Asked) -> Reply:
        """Ask in a decorated function, which raises error statuses."""
        with self.opened(backoff) as client:

            @outer
            def page() -> Reply:
                return checked(self.asked(client, asked))

            return page()


@dataclass(frozen=True)
class AsyncLibrary:
    """As `SyncLibrary`, with clients of an event loop."""

    name: str
    opened: Callable[[Backoff[Any]], AbstractAsyncContextManager[Any]]
    asked: Callable[[Any, Asked], Any]
    run: Callable[..., Any] = lambda function: asyncio.run(function())
    awaits = True

    def ask(self, backoff: Backoff[Any], asked: Asked) -> Reply:
        [reply] = self.ask_at_once(backoff, [asked])
        return reply

    def ask_at_once(self, backoff: Backoff[Any], several: Sequence[Asked]) -> list[Reply]:
        async def replies() -> list[Reply]:
            async with self.opened(backoff) as client:
                if len(several) == 1 or self.run is trio.run:
                    return [await self.asked(client, asked) for asked in several]
                return [*await asyncio.gather(*[self.asked(client, asked) for asked in several])]

        given: list[Reply] = self.run(replies)
        return given

    def ask_inside(self, outer: Backoff[Any], backoff: Backoff[Any], asked: Asked) -> Reply:
        async def reply() -> Reply:
            async with self.opened(backoff) as client:

                @outer
                async def page() -> Reply:
                    return checked(await self.asked(client, asked))

                return await page()

        given: Reply = self.run(reply)
        return given


def by_httpx(client: Any, asked: Asked) -> Reply:
    answer = client.request(
        asked.method,
        asked.url,
        headers=asked.headers,
        content=asked.plain(),
        timeout=asked.timeout,
        follow_redirects=True,
    )
    return Reply(answer.status_code, answer.content)


async def by_httpx_async(client: Any, asked: Asked) -> Reply:
    answer = await client.request(
        asked.method,
        asked.url,
        headers=asked.headers,
        content=asked.awaited(),
        timeout=asked.timeout,
        follow_redirects=True,
    )
    return Reply(answer.status_code, answer.content)


def httpx_client(library: Any) -> Callable[[Backoff[Any]], Any]:
    def opened(backoff: Backoff[Any]) -> Any:
        inner = library.HTTPTransport(verify=TRUSTED)
        return library.Client(transport=transport(backoff, inner))

    return opened


def httpx_client_async(library: Any) -> Callable[[Backoff[Any]], Any]:
    def opened(backoff: Backoff[Any]) -> Any:
        inner = library.AsyncHTTPTransport(verify=TRUSTED)
        return library.AsyncClient(transport=transport(backoff, inner))

    return opened


def session(backoff: Backoff[Any]) -> requests.Session:
    made = requests.Session()
    made.mount("http://", adapter(backoff))
    return made


def by_requests(client: requests.Session, asked: Asked) -> Reply:
    answer = client.request(
        asked.method,
        asked.url,
        headers=asked.headers,
        data=asked.plain(),
        timeout=asked.timeout,
    )
    return Reply(answer.status_code, answer.content)


def aiohttp_session(backoff: Backoff[Any]) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(middlewares=[middleware(backoff)])


async def by_aiohttp(client: aiohttp.ClientSession, asked: Asked) -> Reply:
    timeout = aiohttp.ClientTimeout(sock_connect=asked.timeout, sock_read=asked.timeout)
    async with client.request(
        asked.method, asked.url, headers=asked.headers, data=asked.awaited(), timeout=timeout
    ) as answer:
        return Reply(answer.status, await answer.read())


LIBRARIES: list[SyncLibrary | AsyncLibrary] = [
    SyncLibrary("httpx sync", httpx_client(httpx), by_httpx),
    AsyncLibrary("httpx asyncio", httpx_client_async(httpx), by_httpx_async),
    AsyncLibrary("httpx trio", httpx_client_async(httpx), by_httpx_async, trio.run),
    SyncLibrary("httpx2 sync", httpx_client(httpx2), by_httpx),
    AsyncLibrary("httpx2 asyncio", httpx_client_async(httpx2), by_httpx_async),
    AsyncLibrary("httpx2 trio", httpx_client_async(httpx2), by_httpx_async, trio.run),
    SyncLibrary("requests sync", session, by_requests),
    AsyncLibrary("aiohttp asyncio", aiohttp_session, by_aiohttp),
]
each_library = pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
