"""Pools of connections that serve one exchange at a time.

Requests that share a connection share its fate: the deadline of one would end the others. So each
request has a connection of its own, and HTTP/2, which saves connections, is not used.
"""

from __future__ import annotations

from collections.abc import Awaitable, Collection
from contextlib import suppress
from threading import get_ident
from typing import Any, TypeVar, cast

import httpcore2

from .deadline_sockets import USE
from .httpx_internals import extensions_of, has_trailing_data, keep_none

# These may mean that the server had closed the connection while it was unused.
STALE = (httpcore2.ReadError, httpcore2.WriteError, httpcore2.RemoteProtocolError)

FRESH = "ixbackoff-fresh"

C = TypeVar("C")


class WatchedConnection:
    """A wrapper around a connection of the library, sync or async, that notes its use.

    A connection that has received more than the response is not used again, because the excess
    would be taken for the next response.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.thread = 0  # the thread that used it last
        self._fresh = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def handle_request(self, request: httpcore2.Request) -> httpcore2.Response:
        self.begin(request)
        return cast("httpcore2.Response", self._connection.handle_request(request))

    def handle_async_request(self, request: httpcore2.Request) -> Awaitable[httpcore2.Response]:
        self.begin(request)
        return cast("Awaitable[httpcore2.Response]", self._connection.handle_async_request(request))

    def begin(self, request: httpcore2.Request) -> None:
        """Note in a request whether it is the first one on this connection."""
        self.thread = get_ident()
        extensions_of(request)[FRESH], self._fresh = self._fresh, False

    def has_expired(self) -> bool:
        return self._connection.has_expired() or has_trailing_data(self._connection)


def watched(connection: C) -> C:
    return cast("C", WatchedConnection(connection))


class Pool(httpcore2.ConnectionPool):
    """A pool for threads; the context variable `USE` has the deadline."""

    def handle_request(self, request: httpcore2.Request) -> httpcore2.Response:
        """Send a request; repeat it if the server had closed the connection while it was unused.

        Before the repetition, close all idle connections to the server, because the server may have
        closed these, too.
        """
        use = USE.get()
        try:
            return super().handle_request(request)
        except STALE:
            if extensions_of(request).get(FRESH) or use.aborted or not use.deadline.left:
                raise
        self.close_idle(request.url.origin)
        return super().handle_request(request)

    def create_connection(self, origin: httpcore2.Origin) -> httpcore2.ConnectionInterface:
        return watched(super().create_connection(origin))

    def close(self) -> None:
        keep_none(self)
        super().close()

    def close_idle(self, origin: httpcore2.Origin) -> None:
        for connection in self.connections:
            if connection.is_idle() and connection.can_handle_request(origin):
                connection.close()

    def retire(self, interrupted: Collection[int]) -> None:
        """Close idle connections and those of interrupted threads; close the others after use."""
        keep_none(self)
        for connection in self.connections:
            assert isinstance(connection, WatchedConnection)
            if connection.is_idle() or connection.thread in {0, *interrupted}:
                with suppress(Exception):  # after an interrupt it may be in any state
                    connection.close()


class AsyncPool(httpcore2.AsyncConnectionPool):
    async def handle_async_request(self, request: httpcore2.Request) -> httpcore2.Response:
        try:
            return await super().handle_async_request(request)
        except STALE:
            if extensions_of(request).get(FRESH):
                raise
        await self.close_idle(request.url.origin)
        return await super().handle_async_request(request)

    def create_connection(self, origin: httpcore2.Origin) -> httpcore2.AsyncConnectionInterface:
        return watched(super().create_connection(origin))

    async def close_idle(self, origin: httpcore2.Origin) -> None:
        for connection in self.connections:
            if connection.is_idle() and connection.can_handle_request(origin):
                await connection.aclose()

    async def aclose(self) -> None:
        keep_none(self)
        await super().aclose()
