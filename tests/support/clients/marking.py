"""Clients whose requests are marked: each sends some requests, with retries around or inside."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import aiohttp
import httpx
import httpx2
import requests

from ixbackoff import Backoff
from ixbackoff.clients import adapter, marks, middleware, transport

Sent: TypeAlias = tuple[str, str, dict[str, str]]
"""The method, the URL and the headers of a request."""
FAILURES = (httpx.HTTPError, httpx2.HTTPError, requests.RequestException, aiohttp.ClientError)
Send: TypeAlias = Callable[..., None]


def around(tries: Backoff[Any] | None, function: Any) -> Any:
    return function if tries is None else tries(function)


def by_httpx(library: Any, awaits: bool) -> Send:
    def send(
        sent: Sequence[Sent],
        hosts: Collection[str],
        tries: Backoff[Any] | None = None,
        inside: Backoff[Any] | None = None,
        **options: Any,
    ) -> None:
        used = {} if inside is None else {"transport": transport(inside)}
        kind = library.AsyncClient if awaits else library.Client
        timeout = options.pop("timeout", None)
        client = kind(follow_redirects=True, timeout=timeout, **used)
        assert marks.httpx(client, hosts, **options) is client

        def ask() -> None:
            for method, url, headers in sent:
                client.request(method, url, headers=headers).raise_for_status()

        async def ask_async() -> None:
            for method, url, headers in sent:
                (await client.request(method, url, headers=headers)).raise_for_status()

        async def main() -> None:
            async with client:
                await around(tries, ask_async)()

        with suppress(*FAILURES):
            if awaits:
                asyncio.run(main())
            else:
                with client:
                    around(tries, ask)()

    return send


def by_requests(
    sent: Sequence[Sent],
    hosts: Collection[str],
    tries: Backoff[Any] | None = None,
    inside: Backoff[Any] | None = None,
    **options: Any,
) -> None:
    timeout = options.pop("timeout", None)
    with requests.Session() as session:
        assert marks.requests(session, hosts, **options) is session
        if inside is not None:
            session.mount("http://", adapter(inside))

        def ask() -> None:
            for method, url, headers in sent:
                session.request(method, url, headers=headers, timeout=timeout).raise_for_status()

        with suppress(*FAILURES):
            around(tries, ask)()


def by_aiohttp(
    sent: Sequence[Sent],
    hosts: Collection[str],
    tries: Backoff[Any] | None = None,
    inside: Backoff[Any] | None = None,
    **options: Any,
) -> None:
    used = [] if inside is None else [middleware(inside)]

    async def main() -> None:
        marking = marks.aiohttp(hosts, **options)
        async with aiohttp.ClientSession(middlewares=[*used, marking]) as session:

            async def ask() -> None:
                for method, url, headers in sent:
                    async with session.request(method, url, headers=headers) as answer:
                        answer.raise_for_status()

            with suppress(*FAILURES):
                await around(tries, ask)()

    asyncio.run(main())


SENDING: dict[str, Send] = {
    "httpx": by_httpx(httpx, awaits=False),
    "httpx async": by_httpx(httpx, awaits=True),
    "httpx2": by_httpx(httpx2, awaits=False),
    "httpx2 async": by_httpx(httpx2, awaits=True),
    "requests": by_requests,
    "aiohttp": by_aiohttp,
}
