"""Connections for the HTTP library: sync ones end at a deadline, async ones are always closed."""

from __future__ import annotations

import ssl
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Self
from urllib.request import getproxies, proxy_bypass

import anyio
import httpcore2
import httpx2

from .sockets import TimedBackend
from .times import Deadline

ERRORS: dict[type[Exception], type[httpx2.TransportError]] = {
    httpcore2.ConnectTimeout: httpx2.ConnectTimeout,
    httpcore2.ReadTimeout: httpx2.ReadTimeout,
    httpcore2.WriteTimeout: httpx2.WriteTimeout,
    httpcore2.PoolTimeout: httpx2.PoolTimeout,
    httpcore2.ConnectError: httpx2.ConnectError,
    httpcore2.ReadError: httpx2.ReadError,
    httpcore2.WriteError: httpx2.WriteError,
    httpcore2.ProxyError: httpx2.ProxyError,
    httpcore2.UnsupportedProtocol: httpx2.UnsupportedProtocol,
    httpcore2.LocalProtocolError: httpx2.LocalProtocolError,
    httpcore2.RemoteProtocolError: httpx2.RemoteProtocolError,
}


class TimedTransport(httpx2.BaseTransport):
    """A transport that sends requests until a deadline, by way of the usual proxy variables.

    The HTTP library's own transport does not take a network backend, which knows the deadline.
    """

    def __init__(self, verify: ssl.SSLContext, deadline: Deadline) -> None:
        self.verify = verify
        self.deadline = deadline
        self.pools: dict[str, httpcore2.ConnectionPool] = {}
        self.opened = ExitStack()

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        asked = httpcore2.Request(
            method=request.method,
            url=httpcore2.URL(
                scheme=request.url.raw_scheme,
                host=request.url.raw_host,
                port=request.url.port,
                target=request.url.raw_path,
            ),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with renamed():
            answer = self.pool(proxy_of(request.url)).handle_request(asked)
        return httpx2.Response(answer.status, headers=answer.headers, stream=TimedBody(answer))

    def pool(self, proxy: str) -> httpcore2.ConnectionPool:
        if proxy not in self.pools:
            made = httpcore2.ConnectionPool(
                ssl_context=self.verify,
                proxy=opened_proxy(proxy) if proxy else None,
                network_backend=TimedBackend(self.deadline),
            )
            self.pools[proxy] = self.opened.enter_context(made)
        return self.pools[proxy]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self.opened.close()


class TimedBody(httpx2.SyncByteStream):
    """The body of an answer, whose errors are those of the HTTP library."""

    def __init__(self, answer: httpcore2.Response) -> None:
        self.answer = answer

    def __iter__(self) -> Iterator[bytes]:
        with renamed():
            yield from self.answer.iter_stream()

    def close(self) -> None:
        self.answer.close()


class Opened:
    """The connections that an async request opens, so that all of them can be closed.

    The HTTP library leaves a connection open that is cancelled during the handshake. It reports
    each connection to the extension `trace` of a request.
    """

    def __init__(self) -> None:
        self.streams: list[httpcore2.AsyncNetworkStream] = []

    async def __call__(self, event: str, info: Mapping[str, object]) -> None:
        stream = info.get("return_value")
        opened = event.endswith(".connect_tcp.complete")
        if opened and isinstance(stream, httpcore2.AsyncNetworkStream):
            self.streams.append(stream)

    async def aclose(self) -> None:
        """Close the connections that are still open."""
        with anyio.CancelScope(shield=True):
            for stream in self.streams:
                await stream.aclose()


def proxy_of(url: httpx2.URL) -> str:
    """Return the proxy that the environment sets for a URL, or an empty text."""
    known = getproxies()
    proxy = known.get(url.scheme) or known.get("all", "")
    if not proxy or proxy_bypass(url.host):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def opened_proxy(url: str) -> httpcore2.Proxy:
    proxy = httpx2.Proxy(url)
    address = httpcore2.URL(
        scheme=proxy.url.raw_scheme,
        host=proxy.url.raw_host,
        port=proxy.url.port,
        target=proxy.url.raw_path,
    )
    return httpcore2.Proxy(address, proxy.raw_auth, proxy.headers.raw, proxy.ssl_context)


@contextmanager
def renamed() -> Generator[None]:
    """Raise errors of the lower library as those of the HTTP library."""
    try:
        yield
    except tuple(ERRORS) as error:
        raise ERRORS[error.__class__](str(error)) from error
