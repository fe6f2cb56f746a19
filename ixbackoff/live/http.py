"""Downloads and headers from web servers, sync and async."""

from __future__ import annotations

import logging
import os
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import aclosing, asynccontextmanager, closing, contextmanager, suppress
from functools import lru_cache

import httpx2

from .._words.vocabulary import Download
from .exchanges import Body, Exchange, Progress
from .files import PartFile
from .limits import Limits
from .threads import in_thread
from .times import Deadline
from .transports import Opened, TimedTransport

# Below INFO it logs headers as they are, and the URL of a redirect may hold secrets.
WIRE = logging.getLogger("httpcore2")
if WIRE.level == logging.NOTSET:
    WIRE.setLevel(logging.INFO)


def download(
    command: Download, limits: Limits, deadline: Deadline, progress: Progress | None
) -> None:
    exchange = Exchange("GET", command.url, limits, deadline)
    with PartFile(command.path) as part:
        with answer(exchange) as response:
            body = Body(command, exchange, response, progress)
            for chunk in response.iter_raw():
                part.write(body.checked(chunk))
            body.check_whole()
        part.commit()


async def download_async(
    command: Download, limits: Limits, deadline: Deadline, progress: Progress | None
) -> None:
    exchange = Exchange("GET", command.url, limits, deadline)
    with PartFile(command.path) as part:
        async with answer_async(exchange) as response:
            body = Body(command, exchange, response, progress)
            async with chunks_of(response) as chunks:
                async for chunk in chunks:
                    part.write(body.checked(chunk))
            body.check_whole()
        await in_thread(part.commit)


def head(url: str, limits: Limits, deadline: Deadline) -> Mapping[str, str]:
    with answer(Exchange("HEAD", url, limits, deadline)) as response:
        return response.headers


async def head_async(url: str, limits: Limits, deadline: Deadline) -> Mapping[str, str]:
    async with answer_async(Exchange("HEAD", url, limits, deadline)) as response:
        return response.headers


@contextmanager
def answer(exchange: Exchange) -> Generator[httpx2.Response]:
    """Send a request, follow its redirects, and give the answer with its body still to be read."""
    with (
        exchange.translated(),
        httpx2.Client(
            transport=TimedTransport(trusted(), exchange.deadline),
            timeout=exchange.timeout,
            headers=exchange.headers,
        ) as client,
    ):
        request: httpx2.Request | None = exchange.first(client)
        while request is not None:
            with closing(client.send(request, stream=True)) as response:
                request = exchange.following(response)
                if request is None:
                    yield response


@asynccontextmanager
async def answer_async(exchange: Exchange) -> AsyncGenerator[httpx2.Response]:
    """Do what `answer` does, with `await`."""
    with exchange.translated(), exchange.deadline.kept():
        async with (
            aclosing(Opened()) as opened,
            httpx2.AsyncClient(
                verify=trusted(), timeout=exchange.timeout, headers=exchange.headers
            ) as client,
        ):
            request: httpx2.Request | None = exchange.first(client, opened)
            while request is not None:
                async with aclosing(await client.send(request, stream=True)) as response:
                    request = exchange.following(response)
                    if request is None:
                        yield response


@asynccontextmanager
async def chunks_of(response: httpx2.Response) -> AsyncGenerator[AsyncIterator[bytes]]:
    """Give the body of an answer; at the end of the block it is read to its end, as trio wants."""
    chunks = response.aiter_raw()
    try:
        yield chunks
    finally:
        await response.aclose()
        with suppress(httpx2.HTTPError, httpx2.StreamError):
            async for _ in chunks:
                pass


def trusted() -> ssl.SSLContext:
    """Return the trusted certificates: the system's, or those that `SSL_CERT_FILE` names."""
    return certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@lru_cache(maxsize=1)
def certificates(*_places: str | None) -> ssl.SSLContext:
    # Reading the certificates takes longer than a small download, so all clients share them.
    return httpx2.create_ssl_context()
