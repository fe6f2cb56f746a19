"""Clients of the web, as users call them: each by its library, sync or in an event loop."""

from __future__ import annotations

import asyncio
import http.client
import ssl
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import closing, contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeAlias
from urllib.error import HTTPError
from urllib.request import Request, build_opener

import aiohttp
import httpcore
import httpcore2
import httpx
import httpx2
import pytest
import requests
import trio
import urllib3

from ixbackoff import N3, backoff
from ixbackoff.schedules import Constant

CONNECT_TIMEOUT = ContextVar("CONNECT_TIMEOUT", default=10.0)
READ_TIMEOUT = ContextVar("READ_TIMEOUT", default=10.0)
"""Seconds after which a client gives up a connection or an answer that does not come."""

TRUSTED = ssl.create_default_context()
"""Shared, since reading the certificates takes longer than a request."""

Ask: TypeAlias = Callable[[str, str, Mapping[str, str]], object]
AskAsync: TypeAlias = Callable[[str, str, Mapping[str, str]], Awaitable[object]]


class Client(NamedTuple):
    """A client: its library, and functions that make a request and raise if it fails.

    Attributes:
        name: the library and how it is called.
        ask: makes a request; for async clients, runs an event loop around it.
        tried: the same, tried four times if it may pass.
        raises_statuses: true if the library makes a failure of a status.
    """

    name: str
    ask: Ask
    tried: Ask
    raises_statuses: bool = True

    @property
    def library(self) -> str:
        return self.name.partition(" ")[0]

    def fails(self, method: str, url: str, **headers: str) -> Exception:
        """Try a request that fails in the end, and return the failure."""
        with pytest.raises(Exception) as caught:  # noqa: PT011
            self.tried(method, url, {name.replace("_", "-"): headers[name] for name in headers})
        return caught.value


patiently = backoff(N3, schedule=Constant(0.001))


@contextmanager
def impatience(timeout: ContextVar[float], seconds: float = 0.05) -> Generator[None]:
    """Have clients give up soon, for servers that never answer."""
    before = timeout.set(seconds)
    yield
    timeout.reset(before)


def sync(name: str, ask: Ask, raises_statuses: bool = True) -> Client:
    return Client(name, ask, patiently(ask), raises_statuses)


def in_asyncio(name: str, ask: AskAsync) -> Client:
    tried = patiently(ask)

    async def awaited(ask: AskAsync, method: str, url: str, headers: Mapping[str, str]) -> object:
        return await ask(method, url, headers)

    return Client(
        name,
        lambda *given: asyncio.run(awaited(ask, *given)),
        lambda *given: asyncio.run(awaited(tried, *given)),
    )


def in_trio(name: str, ask: AskAsync) -> Client:
    tried = patiently(ask)
    return Client(
        name, lambda *given: trio.run(ask, *given), lambda *given: trio.run(tried, *given)
    )


def options(library: Any) -> dict[str, Any]:
    timeout = library.Timeout(CONNECT_TIMEOUT.get(), read=READ_TIMEOUT.get())
    return {"timeout": timeout, "follow_redirects": True, "verify": TRUSTED}


def by_httpx(method: str, url: str, headers: Mapping[str, str]) -> object:
    with httpx.Client(**options(httpx)) as client:
        return client.request(method, url, headers=headers).raise_for_status().content


async def by_httpx_async(method: str, url: str, headers: Mapping[str, str]) -> object:
    async with httpx.AsyncClient(**options(httpx)) as client:
        return (await client.request(method, url, headers=headers)).raise_for_status().content


def by_httpx2(method: str, url: str, headers: Mapping[str, str]) -> object:
    with httpx2.Client(**options(httpx2)) as client:
        return client.request(method, url, headers=headers).raise_for_status().content


async def by_httpx2_async(method: str, url: str, headers: Mapping[str, str]) -> object:
    async with httpx2.AsyncClient(**options(httpx2)) as client:
        return (await client.request(method, url, headers=headers)).raise_for_status().content


def extensions() -> dict[str, Any]:
    return {"timeout": {"connect": CONNECT_TIMEOUT.get(), "read": READ_TIMEOUT.get()}}


def by_httpcore(method: str, url: str, headers: Mapping[str, str]) -> object:
    with httpcore.ConnectionPool(ssl_context=TRUSTED) as pool:
        return pool.request(
            method, url, headers=list(headers.items()), extensions=extensions()
        ).content


def by_httpcore2(method: str, url: str, headers: Mapping[str, str]) -> object:
    with httpcore2.ConnectionPool(ssl_context=TRUSTED) as pool:
        return pool.request(
            method, url, headers=list(headers.items()), extensions=extensions()
        ).content


def by_requests(method: str, url: str, headers: Mapping[str, str]) -> object:
    with requests.Session() as session:
        timeout = (CONNECT_TIMEOUT.get(), READ_TIMEOUT.get())
        answer = session.request(method, url, headers=dict(headers), timeout=timeout)
        answer.raise_for_status()
        return answer.content


def by_urllib3(method: str, url: str, headers: Mapping[str, str]) -> object:
    return by_urllib3_with(False, method, url, headers)


def by_urllib3_with_retries(method: str, url: str, headers: Mapping[str, str]) -> object:
    retries = urllib3.Retry(total=0, redirect=3, allowed_methods=None)
    return by_urllib3_with(retries, method, url, headers)


def by_urllib3_with(
    retries: urllib3.Retry | bool, method: str, url: str, headers: Mapping[str, str]
) -> object:
    timeout = urllib3.Timeout(connect=CONNECT_TIMEOUT.get(), read=READ_TIMEOUT.get())
    with urllib3.PoolManager(retries=retries, timeout=timeout) as pool:
        return pool.request(method, url, headers=headers).data


async def by_aiohttp(method: str, url: str, headers: Mapping[str, str]) -> object:
    timeout = aiohttp.ClientTimeout(
        sock_read=READ_TIMEOUT.get(), sock_connect=CONNECT_TIMEOUT.get()
    )
    async with (
        aiohttp.ClientSession(timeout=timeout, raise_for_status=True, trust_env=True) as session,
        session.request(method, url, headers=headers) as answer,
    ):
        return await answer.read()


def by_urllib(method: str, url: str, headers: Mapping[str, str]) -> object:
    asked = Request(url, method=method, headers=dict(headers))  # noqa: S310
    seconds = min(READ_TIMEOUT.get(), CONNECT_TIMEOUT.get())
    try:
        with build_opener().open(asked, timeout=seconds) as answer:
            return answer.read()
    except HTTPError as failure:
        failure.close()  # it is an answer, too
        raise


def by_http_client(method: str, url: str, headers: Mapping[str, str]) -> object:
    place, _, path = url.removeprefix("http://").partition("/")
    seconds = min(READ_TIMEOUT.get(), CONNECT_TIMEOUT.get())
    with closing(http.client.HTTPConnection(place, timeout=seconds)) as connection:
        connection.request(method, f"/{path}", headers=headers)
        with connection.getresponse() as answer:
            return answer.read()


CLIENTS = [
    sync("httpx sync", by_httpx),
    in_asyncio("httpx asyncio", by_httpx_async),
    in_trio("httpx trio", by_httpx_async),
    sync("httpx2 sync", by_httpx2),
    in_asyncio("httpx2 asyncio", by_httpx2_async),
    in_trio("httpx2 trio", by_httpx2_async),
    sync("httpcore sync", by_httpcore, raises_statuses=False),
    sync("httpcore2 sync", by_httpcore2, raises_statuses=False),
    sync("requests sync", by_requests),
    sync("urllib3 retries=False", by_urllib3, raises_statuses=False),
    sync("urllib3 total=0", by_urllib3_with_retries, raises_statuses=False),
    in_asyncio("aiohttp asyncio", by_aiohttp),
    sync("urllib sync", by_urllib),
    sync("http sync", by_http_client, raises_statuses=False),
]
each_client = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
raising_clients = pytest.mark.parametrize(
    "client", [one for one in CLIENTS if one.raises_statuses], ids=lambda client: client.name
)
