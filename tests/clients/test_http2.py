"""A backoff inside clients that speak HTTP/2: many requests share one connection."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest

from ixbackoff import N3, backoff
from ixbackoff.clients import transport
from ixbackoff.schedules import Constant

from ..support.servers.certificates import self_signed
from ..support.servers.http2 import Message, Nuts, Scope, speaking_http2

patiently = backoff(N3, schedule=Constant(0.01))
both = pytest.mark.parametrize("library", [httpx, httpx2], ids=lambda library: library.__name__)
bodies = pytest.mark.parametrize("body", [b"down", bytes(300_000)], ids=["short", "long"])
PATHS = [f"/{number}" for number in range(8)]


class Down(Nuts):
    """Answers each path with 503 twice, in chunks."""

    async def __call__(
        self,
        scope: Scope,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        async def failing(message: Message) -> None:
            tries = [path for _, _, path in self.asked].count(scope["path"])
            if message["type"] == "http.response.start" and tries < 3:
                message["status"] = 503
            await send(message)

        await super().__call__(scope, receive, failing)


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return self_signed(tmp_path)


@pytest.fixture
def trusted(certificate: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certificate)


@both
@bodies
def test_all_tries_share_a_connection(
    library: Any, body: bytes, certificate: Path, trusted: ssl.SSLContext
) -> None:
    app = Down(body)
    inner = library.HTTPTransport(verify=trusted, http2=True)
    with (
        speaking_http2(app, certificate) as url,
        library.Client(transport=transport(patiently, inner)) as client,
    ):
        assert [client.get(url + path).content == body for path in PATHS] == [True] * 8
    assert (len(app.asked), len(app.connections), app.versions) == (24, 1, {"2"})


@both
@bodies
def test_in_threads_each_request_is_answered(
    library: Any, body: bytes, certificate: Path, trusted: ssl.SSLContext
) -> None:
    """In threads httpcore mixes frames, one time in 60: the server then ends the connection."""
    app = Down(body)
    inner = library.HTTPTransport(verify=trusted, http2=True)
    with (
        speaking_http2(app, certificate) as url,
        library.Client(transport=transport(patiently, inner)) as client,
        ThreadPoolExecutor(8) as pool,
    ):
        assert client.get(f"{url}/0").content == body
        answers = [*pool.map(client.get, [url + path for path in PATHS[1:]])]
        assert [answer.content == body for answer in answers] == [True] * 7
    assert len(app.connections) <= 2
    assert app.versions == {"2"}


@both
@bodies
def test_in_a_loop_too(
    library: Any, body: bytes, certificate: Path, trusted: ssl.SSLContext
) -> None:
    async def ask() -> list[bool]:
        inner = library.AsyncHTTPTransport(verify=trusted, http2=True)
        async with library.AsyncClient(transport=transport(patiently, inner)) as client:
            await client.get(f"{url}/0")
            answers = await asyncio.gather(*[client.get(url + path) for path in PATHS[1:]])
            return [answer.content == body for answer in answers]

    app = Down(body)
    with speaking_http2(app, certificate) as url:
        assert asyncio.run(ask()) == [True] * 7
    assert (len(app.asked), len(app.connections), app.versions) == (24, 1, {"2"})
