"""Transports of the HTTP library: they pool connections and use the proxies of the environment."""

from __future__ import annotations

import os
import ssl
from collections.abc import Collection, Mapping
from functools import lru_cache
from importlib.util import find_spec
from threading import Lock
from typing import Any, NamedTuple
from urllib.request import getproxies, proxy_bypass

import anyio
import httpcore2
import httpx2

from .._words.standard_commands import without_secrets
from .allowed_addresses import AddressRefused, check_port
from .deadline_sockets import AsyncBackend, TimedBackend
from .host_gates import AsyncHostGate, HostGate
from .httpx_internals import AsyncSender, Sender, lock_in_c
from .limits import Limits
from .pools import AsyncPool, Pool

IDLE = 30.0  # seconds for which an unused connection stays open
IDLE_MOST = 32  # unused connections

# Length and ETag have to be those of the resource itself, so requests accept no encoding. The body
# of a response that is nevertheless encoded is stored unchanged.
HEADERS = {"Accept-Encoding": "identity"}


class Transport(httpx2.BaseTransport):
    """A transport for threads."""

    def __init__(self, limits: Limits) -> None:
        self._pools: dict[Route, Pool] = {}
        self._lock = Lock()
        self._limits = limits
        self._proxies = getproxies()
        self.gate = HostGate(limits.connections)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        pool = self._pool(route_of(request.url, self._proxies, self._limits))
        return without_phrase(Sender(pool).handle_request(request))

    def _pool(self, route: Route) -> Pool:
        with self._lock:
            if route not in self._pools:
                backend = TimedBackend(self._limits.addresses)
                pool = Pool(network_backend=backend, **settings_of(route))
                lock_in_c(pool)
                self._pools[route] = pool
            return self._pools[route]

    def retire(self, interrupted: Collection[int]) -> None:
        for pool in [*self._pools.values()]:
            pool.retire(interrupted)

    def close(self) -> None:
        for pool in [*self._pools.values()]:  # another thread may add a pool meanwhile
            pool.close()


class AsyncTransport(httpx2.AsyncBaseTransport):
    """A transport for the tasks of one event loop."""

    def __init__(self, limits: Limits) -> None:
        self._pools: dict[Route, AsyncPool] = {}
        self._limits = limits
        self._proxies = getproxies()
        self.gate = AsyncHostGate(limits.connections)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        pool = self._pool(route_of(request.url, self._proxies, self._limits))
        return without_phrase(await AsyncSender(pool).handle_async_request(request))

    def _pool(self, route: Route) -> AsyncPool:
        if route not in self._pools:
            backend = AsyncBackend(self._limits.addresses)
            self._pools[route] = AsyncPool(network_backend=backend, **settings_of(route))
        return self._pools[route]

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True):
            for pool in [*self._pools.values()]:
                await pool.aclose()


def without_phrase(response: httpx2.Response) -> httpx2.Response:
    """Drop the server's reason phrase, which httpx2 would log."""
    response.extensions.pop("reason_phrase", None)
    return response


class Route(NamedTuple):
    """A route to servers; each route has its own pool."""

    secure: bool  # whether it uses TLS: only then are the certificates read, which takes 20 ms
    proxy: str  # the URL of the proxy, or an empty string


def route_of(url: httpx2.URL, proxies: Mapping[str, str], limits: Limits) -> Route:
    """Return the route to the server of a URL, through one of the environment's `proxies` if set.

    Raises:
        AddressRefused: the route has a proxy, whose connections the given `addresses` cannot check.
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
    address, headers = str(proxy.url), proxy.headers.raw
    return httpcore2.Proxy(address, proxy.raw_auth, headers, proxy.ssl_context)


def timeout_of(limits: Limits) -> httpx2.Timeout:
    return httpx2.Timeout(limits.read_timeout, connect=limits.connect_timeout)


def trusted() -> ssl.SSLContext:
    """Return a context with the certificates of the system, `SSL_CERT_FILE` or `SSL_CERT_DIR`."""
    return certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@lru_cache(maxsize=1)
def certificates(*_places: str | None) -> ssl.SSLContext:
    # Reading the certificates takes longer than a small download, so all clients share a context.
    context = httpx2.create_ssl_context()
    # Early Python 3.11 ignores a missing `close_notify` of TLS at the end of a cut connection.
    # A response without a length ends with its connection, so an attacker could shorten its body.
    context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
    return context
