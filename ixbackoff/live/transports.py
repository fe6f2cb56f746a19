"""Transports of the HTTP library: they pool connections and use the proxies of the environment."""

from __future__ import annotations

import os
import ssl
from collections.abc import AsyncIterator, Callable, Collection, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from threading import Lock
from typing import Any, NamedTuple
from urllib.request import getproxies, proxy_bypass

import anyio
import httpcore2
import httpx2

from .._words.vocabulary import without_secrets
from .addresses import AddressRefused, check_port
from .gates import AsyncHostGate, HostGate
from .internals import extensions_of, lock_in_c
from .limits import Limits
from .pools import AsyncPool, Pool
from .sockets import USE, AsyncBackend, TimedBackend, Use

IDLE = 30.0  # seconds for which an unused connection stays open
IDLE_MOST = 32  # unused connections

# Length and ETag have to be those of the resource itself, so requests accept no encoding. The body
# of a response that is encoded all the same is stored unchanged.
HEADERS = {"Accept-Encoding": "identity"}

# httpx2 has errors of the same names.
ERRORS = (
    *(httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError),
    *(httpcore2.ProxyError, httpcore2.UnsupportedProtocol),
)
# These may mean that the server had closed the connection while it was unused.
STALE = (httpcore2.ReadError, httpcore2.WriteError, httpcore2.RemoteProtocolError)


class Transport(httpx2.BaseTransport):
    """A transport for threads; the context variable `USE` has the deadline of each exchange."""

    def __init__(self, limits: Limits) -> None:
        self._pools: dict[Route, Pool] = {}
        self._lock = Lock()
        self._limits = limits
        self._proxies = getproxies()
        self._gate = HostGate(limits.connections)
        self._clients: list[httpx2.Client] = []

    @contextmanager
    def client(self) -> Generator[httpx2.Client]:
        """Yield a client for this block alone, because a client keeps cookies."""
        try:
            client = self._clients.pop()
        except IndexError:
            timeout = timeout_of(self._limits)
            client = httpx2.Client(transport=self, timeout=timeout, headers=HEADERS)
        try:
            yield client
        finally:
            client.cookies.clear()
            self._clients.append(client)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        use, host = USE.get(), request.url.host
        pool = self._pool(route_of(request.url, self._proxies, self._limits))
        self._gate.enter(host, use.deadline)
        try:
            with renamed():
                answer = send(pool, to_httpcore(request), use)
        except BaseException:
            self._gate.leave(host)
            raise
        return to_httpx(answer, Body(answer, lambda: self._gate.leave(host)))

    def _pool(self, route: Route) -> Pool:
        with self._lock:
            if route not in self._pools:
                backend = TimedBackend(self._limits.addresses)
                self._pools[route] = pool = Pool(network_backend=backend, **settings_of(route))
                lock_in_c(pool)
            return self._pools[route]

    def retire(self, interrupted: Collection[int]) -> None:
        self._clients.clear()
        for pool in [*self._pools.values()]:
            pool.retire(interrupted)

    def close(self) -> None:
        self._clients.clear()  # break the reference cycle of clients and transport
        for pool in [*self._pools.values()]:  # another thread may add a pool meanwhile
            pool.close()


def send(pool: Pool, request: httpcore2.Request, use: Use) -> httpcore2.Response:
    """Send a request, once more if the server had closed the connection while it was unused.

    Before the second time, all idle connections to the server are closed: the server may have
    closed each of them, too.
    """
    use.fresh = False
    try:
        return pool.handle_request(request)
    except STALE:
        if use.fresh or use.aborted or not use.deadline.left:
            raise
    pool.close_idle(request.url.origin)
    return pool.handle_request(request)


class Body(httpx2.SyncByteStream):
    """The body of a response; it raises errors of httpx2. `on_close` is called once."""

    def __init__(self, answer: httpcore2.Response, on_close: Callable[[], None]) -> None:
        self._answer = answer
        self._on_close: Callable[[], None] | None = on_close

    def __iter__(self) -> Iterator[bytes]:
        with renamed():
            yield from self._answer.iter_stream()

    def close(self) -> None:
        on_close, self._on_close = self._on_close, None
        if on_close is not None:
            try:
                self._answer.close()
            finally:
                on_close()


class AsyncTransport(httpx2.AsyncBaseTransport):
    """A transport for the tasks of one event loop."""

    def __init__(self, limits: Limits) -> None:
        self._pools: dict[Route, AsyncPool] = {}
        self._limits = limits
        self._proxies = getproxies()
        self._gate = AsyncHostGate(limits.connections)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        host = request.url.host
        pool = self._pool(route_of(request.url, self._proxies, self._limits))
        await self._gate.enter(host)
        try:
            with renamed():
                answer = await send_async(pool, request)
        except BaseException:
            self._gate.leave(host)
            raise
        return to_httpx(answer, AsyncBody(answer, lambda: self._gate.leave(host)))

    def _pool(self, route: Route) -> AsyncPool:
        if route not in self._pools:
            backend = AsyncBackend(self._limits.addresses)
            self._pools[route] = AsyncPool(network_backend=backend, **settings_of(route))
        return self._pools[route]

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True):
            for pool in [*self._pools.values()]:
                await pool.aclose()


async def send_async(pool: AsyncPool, request: httpx2.Request) -> httpcore2.Response:
    opened = Opened()
    sent = to_httpcore(request, opened)
    try:
        return await pool.handle_async_request(sent)
    except STALE:
        if opened.fresh:
            raise
    await pool.close_idle(sent.url.origin)
    return await pool.handle_async_request(sent)


class AsyncBody(httpx2.AsyncByteStream):
    def __init__(self, answer: httpcore2.Response, on_close: Callable[[], None]) -> None:
        self._answer = answer
        self._on_close: Callable[[], None] | None = on_close

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with renamed():
            async for chunk in self._answer.aiter_stream():
                yield chunk

    async def aclose(self) -> None:
        on_close, self._on_close = self._on_close, None
        if on_close is not None:
            try:
                await self._answer.aclose()
            finally:
                on_close()


class Opened:
    """A trace of the HTTP library that records whether a request opened a connection."""

    fresh = False

    async def __call__(self, event: str, _: object) -> None:
        self.fresh = self.fresh or event.endswith(".connect_tcp.started")


def url_of(url: httpx2.URL) -> httpcore2.URL:
    return httpcore2.URL(
        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
    )


def to_httpcore(request: httpx2.Request, trace: Opened | None = None) -> httpcore2.Request:
    return httpcore2.Request(
        method=request.method,
        url=url_of(request.url),
        headers=request.headers.raw,
        content=request.stream,
        extensions=request.extensions | ({} if trace is None else {"trace": trace}),
    )


def to_httpx(answer: httpcore2.Response, body: Body | AsyncBody) -> httpx2.Response:
    """Return a response of httpx2, without the server's reason phrase: httpx2 would log it."""
    version = extensions_of(answer).get("http_version", b"HTTP/1.1")
    return httpx2.Response(
        answer.status, headers=answer.headers, stream=body, extensions={"http_version": version}
    )


class Route(NamedTuple):
    """A route to servers; each route has its own pool."""

    secure: bool  # whether it uses TLS: only then are the certificates read, which takes 20 ms
    proxy: str  # the URL of the proxy, or an empty string


def route_of(url: httpx2.URL, proxies: Mapping[str, str], limits: Limits) -> Route:
    """Return the route to the server of a URL, through one of the environment's `proxies` if set.

    Raises:
        AddressRefused: there is a proxy, whose connections `Limits(addresses=...)` cannot check.
    """
    secure = url.scheme == "https"
    proxy = proxies.get(url.scheme) or proxies.get("all", "")
    if not proxy or proxy_bypass(url.host):
        return Route(secure, "")
    if limits.addresses is not None:
        raise AddressRefused(
            "`Limits(addresses=...)` cannot check the connections of a proxy: unset the proxy, or "
            "name the host in no_proxy"
        )
    return Route(secure, proxy if "://" in proxy else f"http://{proxy}")


def settings_of(route: Route) -> dict[str, Any]:
    return {
        "ssl_context": trusted() if route.secure else None,
        "proxy": proxy_of(route.proxy) if route.proxy else None,
        "max_connections": None,
        "max_keepalive_connections": IDLE_MOST,
        "keepalive_expiry": IDLE,
        "http2": True,
    }


def proxy_of(url: str) -> httpcore2.Proxy:
    """Make the proxy of a URL; raise ValueError or ImportError if it cannot be used."""
    shown = f"the proxy {without_secrets(url)}"
    try:
        proxy = httpx2.Proxy(url)
    except (ValueError, httpx2.InvalidURL):
        raise ValueError(f"{shown}: give a URL such as http://host:port.") from None
    check_port(proxy.url.port, shown)
    if proxy.url.scheme.startswith("socks") and find_spec("socksio") is None:
        raise ImportError(f"{shown} needs socksio: pip install socksio", name="socksio")
    address, headers = url_of(proxy.url), proxy.headers.raw
    return httpcore2.Proxy(address, proxy.raw_auth, headers, proxy.ssl_context)


def timeout_of(limits: Limits) -> httpx2.Timeout:
    return httpx2.Timeout(limits.read_timeout, connect=limits.connect_timeout)


def trusted() -> ssl.SSLContext:
    """Return a context with the trusted certificates: the system's, or those of `SSL_CERT_FILE`."""
    return certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@lru_cache(maxsize=1)
def certificates(*_places: str | None) -> ssl.SSLContext:
    # Reading the certificates takes longer than a small download, so all clients share a context.
    context = httpx2.create_ssl_context()
    # By default Python takes a cut connection for a closed one, even without TLS's `close_notify`.
    # A response without a length ends with its connection, so an attacker could shorten its body.
    context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
    return context


@contextmanager
def renamed() -> Generator[None]:
    """Raise errors of httpcore2 as those of httpx2."""
    try:
        yield
    except ERRORS as error:
        kind: type[httpx2.TransportError] = getattr(httpx2, error.__class__.__name__)
        raise kind(str(error)) from error
