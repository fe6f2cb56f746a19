"""Downloads and headers from web servers, sync and async."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import ExitStack, aclosing, asynccontextmanager, closing, contextmanager, suppress
from types import MappingProxyType
from typing import Any

import anyio
import httpx2

from .._words.standard_commands import Download
from .connections import Connections
from .deadline_sockets import used
from .exchanges import Exchange, Progress
from .limits import Deadline, Limits
from .part_files import PartFile
from .pooled_transports import HEADERS, timeout_of
from .resumable_downloads import Arrival, Fetched, etag_of

NO_HEADERS: Mapping[str, str] = MappingProxyType({})
SHORTLY = Limits(total_timeout=0.1)
SHORT_DIGITS = 6  # a body whose length has fewer digits is short

# Below INFO httpcore2 logs headers unchanged, and the URL of a redirect may hold secrets.
WIRE = logging.getLogger("httpcore2")
if WIRE.level == logging.NOTSET:
    WIRE.setLevel(logging.INFO)


def fetch(
    command: Download, connections: Connections, deadline: Deadline, progress: Progress | None
) -> Fetched:
    exchange = Exchange("GET", command.url, connections.limits, deadline)
    part = PartFile(command.path)
    try:
        with part:
            fetched = complete(Arrival(command, exchange, part, progress), connections)
            part.commit()
    finally:
        part.release()  # again: Ctrl-C may be raised at the beginning of `__exit__`
    return fetched


class OpenResponse:
    """A response with an unread body, for a `with` block in the thread that made the request."""

    def __init__(self, exchange: Exchange, connections: Connections) -> None:
        self.exchange = exchange
        self._open = ExitStack()
        self._connections = connections
        self._response = connections.carry_out(
            lambda: self._open.enter_context(respond(exchange, connections))
        )
        self.etag: str | None = etag_of(self._response.headers)

    def __enter__(self) -> httpx2.Response:
        return self._response

    def __exit__(self, *raised: Any) -> bool | None:
        return self._open.__exit__(*raised)

    def close(self) -> None:
        """Close the response, and leave its body unread."""
        self._connections.carry_out(self._open.close)


def complete(
    arrival: Arrival, connections: Connections, opened: OpenResponse | None = None
) -> Fetched:
    """Fetch the missing bytes of a download into its part; `opened`: its first response, if any."""
    return connections.carry_out(lambda: completed(arrival, connections, opened))


def completed(arrival: Arrival, connections: Connections, opened: OpenResponse | None) -> Fetched:
    while not arrival.whole:
        requested = opened or respond(arrival.exchange, connections, arrival.headers())
        opened = None
        try:
            with requested as response:
                if arrival.begins(response):
                    for chunk in response.iter_raw():
                        arrival.take(chunk)
                    arrival.check_whole()
        except Exception as failure:
            if not arrival.continues_after(failure):
                raise
    return arrival.fetched


async def fetch_async(
    command: Download, connections: Connections, deadline: Deadline, progress: Progress | None
) -> Fetched:
    from .sync_async_bridges import in_thread

    exchange = Exchange("GET", command.url, connections.limits, deadline)
    with PartFile(command.path) as part:
        arrival = Arrival(command, exchange, part, progress)
        while not arrival.whole:
            try:
                async with respond_async(exchange, connections, arrival.headers()) as response:
                    if arrival.begins(response):
                        async with chunks_of(response) as chunks:
                            async for chunk in chunks:
                                arrival.take(chunk)
                        arrival.check_whole()
            except Exception as failure:
                if not arrival.continues_after(failure):
                    raise
        await in_thread(part.commit)
    return arrival.fetched


def head(url: str, connections: Connections, deadline: Deadline) -> Mapping[str, str]:
    exchange = Exchange("HEAD", url, connections.limits, deadline)

    def headers() -> Mapping[str, str]:
        with respond(exchange, connections) as response:
            drain(response)
            return response.headers

    return connections.carry_out(headers)


async def head_async(url: str, connections: Connections, deadline: Deadline) -> Mapping[str, str]:
    exchange = Exchange("HEAD", url, connections.limits, deadline)
    async with respond_async(exchange, connections) as response:
        await drain_async(response)
        return response.headers


@contextmanager
def respond(
    exchange: Exchange, connections: Connections, headers: Mapping[str, str] = NO_HEADERS
) -> Generator[httpx2.Response]:
    """Send a request, follow its redirects, and yield the response with its body unread."""
    with exchange.translated(), used(exchange.deadline):
        transport = connections.opened()
        client = httpx2.Client(  # for this exchange alone, because a client keeps cookies
            transport=transport, timeout=timeout_of(exchange.limits), headers=HEADERS
        )
        request: httpx2.Request | None = exchange.first(client, headers)
        while request is not None:
            with (
                transport.gate.inside(request.url.host, exchange.deadline),
                closing(client.send(request, stream=True)) as response,
            ):
                try:
                    request = exchange.following(response)
                except BaseException:
                    drain(response)
                    raise
                if request is None:
                    yield response
                else:
                    drain(response)


@asynccontextmanager
async def respond_async(
    exchange: Exchange, connections: Connections, headers: Mapping[str, str] = NO_HEADERS
) -> AsyncGenerator[httpx2.Response]:
    with exchange.translated(), exchange.deadline.scope():
        async with connections.opened_async() as transport:
            client = httpx2.AsyncClient(
                transport=transport, timeout=timeout_of(exchange.limits), headers=HEADERS
            )
            request: httpx2.Request | None = exchange.first(client, headers)
            while request is not None:
                async with (
                    transport.gate.inside(request.url.host),
                    aclosing(await client.send(request, stream=True)) as response,
                ):
                    try:
                        request = exchange.following(response)
                    except BaseException:
                        await drain_async(response)
                        raise
                    if request is None:
                        yield response
                    else:
                        await drain_async(response)


def drain(response: httpx2.Response) -> None:
    """Read an unused body if it is short and arrives soon, so that the connection can be reused."""
    if is_short(response):
        with suppress(httpx2.HTTPError), used(Deadline(SHORTLY)):
            for _ in response.iter_raw():
                pass


async def drain_async(response: httpx2.Response) -> None:
    if is_short(response):
        with suppress(httpx2.HTTPError), anyio.move_on_after(SHORTLY.total_timeout):
            async for _ in response.aiter_raw():
                pass


def is_short(response: httpx2.Response) -> bool:
    length = response.headers.get("Content-Length", "")
    if response.request.method == "HEAD" or response.status_code in (204, 304):
        return True
    return length.isdecimal() and len(length) < SHORT_DIGITS


@asynccontextmanager
async def chunks_of(response: httpx2.Response) -> AsyncGenerator[AsyncIterator[bytes]]:
    """Yield an iterator over a body; after the block close the response, and exhaust the iterator.

    trio warns of an async generator that is not exhausted.
    """
    chunks = response.aiter_raw()
    try:
        yield chunks
    finally:
        await response.aclose()
        with suppress(httpx2.HTTPError, httpx2.StreamError):
            async for _ in chunks:
                pass
