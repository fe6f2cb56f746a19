"""Pools of connections that serve one exchange at a time.

Requests that share a connection share its fate: the deadline of one would end the others. So each
request has a connection of its own, and HTTP/2, which saves connections, is not used.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Collection, Iterable, Iterator
from contextlib import suppress
from threading import get_ident
from typing import Any, Generic, TypeVar

import anyio
import httpcore2

from .gates import AsyncHostGate, HostGate
from .internals import extensions_of, has_trailing_data, keep_none
from .sockets import USE, Use

# These may mean that the server had closed the connection while it was unused.
STALE = (httpcore2.ReadError, httpcore2.WriteError, httpcore2.RemoteProtocolError)

FRESH = "ixbackoff-fresh"

C = TypeVar("C", httpcore2.ConnectionInterface, httpcore2.AsyncConnectionInterface)


class Watched(Generic[C]):
    """A connection that notes its use.

    It is not used again if it received more than the response: the excess would be taken for the
    next response.
    """

    def __init__(self, connection: C) -> None:
        self._connection: C = connection
        self.thread = 0  # the thread that used it last
        self._fresh = True

    def begin(self, request: httpcore2.Request) -> None:
        """Note in a request whether the connection is fresh, that is, has had no other one."""
        extensions_of(request)[FRESH], self._fresh = self._fresh, False

    def info(self) -> str:
        return self._connection.info()

    def can_handle_request(self, origin: httpcore2.Origin) -> bool:
        return self._connection.can_handle_request(origin)

    def is_available(self) -> bool:
        return self._connection.is_available()

    def is_connected(self) -> bool:
        return self._connection.is_connected()

    def has_expired(self) -> bool:
        return self._connection.has_expired() or has_trailing_data(self._connection)

    def is_idle(self) -> bool:
        return self._connection.is_idle()

    def is_closed(self) -> bool:
        return self._connection.is_closed()


class WatchedConnection(Watched[httpcore2.ConnectionInterface], httpcore2.ConnectionInterface):
    def handle_request(self, request: httpcore2.Request) -> httpcore2.Response:
        self.thread = get_ident()
        self.begin(request)
        return self._connection.handle_request(request)

    def close(self) -> None:
        self._connection.close()


class Pool(httpcore2.ConnectionPool):
    """A pool behind the gate of a transport; the context variable `USE` has the deadline."""

    def __init__(self, gate: HostGate, **settings: Any) -> None:
        super().__init__(**settings)
        self._gate = gate

    def handle_request(self, request: httpcore2.Request) -> httpcore2.Response:
        use, host = USE.get(), request.url.host
        self._gate.enter(host, use.deadline)
        try:
            response = self._sent(request, use)
        except BaseException:
            self._gate.leave(host)
            raise
        assert isinstance(response.stream, Iterable)
        response.stream = ReadingStream(response.stream, lambda: self._gate.leave(host))
        return without_phrase(response)

    def _sent(self, request: httpcore2.Request, use: Use) -> httpcore2.Response:
        """Send a request, once more if the server had closed the connection while it was unused.

        Before the second time, all idle connections to the server are closed: the server may have
        closed each of them, too.
        """
        try:
            return super().handle_request(request)
        except STALE:
            if extensions_of(request).get(FRESH) or use.aborted or not use.deadline.left:
                raise
        self.close_idle(request.url.origin)
        return super().handle_request(request)

    def create_connection(self, origin: httpcore2.Origin) -> httpcore2.ConnectionInterface:
        return WatchedConnection(super().create_connection(origin))

    def close(self) -> None:
        keep_none(self)
        super().close()

    def close_idle(self, origin: httpcore2.Origin) -> None:
        for connection in self.connections:
            if connection.is_idle() and connection.can_handle_request(origin):
                connection.close()

    def retire(self, interrupted: Collection[int]) -> None:
        """Close idle connections and those of interrupted threads; others close after their use."""
        keep_none(self)
        for connection in self.connections:
            assert isinstance(connection, WatchedConnection)
            if connection.is_idle() or connection.thread in {0, *interrupted}:
                with suppress(Exception):  # interrupted anywhere, it may be in any state
                    connection.close()


class AsyncWatchedConnection(
    Watched[httpcore2.AsyncConnectionInterface], httpcore2.AsyncConnectionInterface
):
    async def handle_async_request(self, request: httpcore2.Request) -> httpcore2.Response:
        self.begin(request)
        return await self._connection.handle_async_request(request)

    async def aclose(self) -> None:
        await self._connection.aclose()


class AsyncPool(httpcore2.AsyncConnectionPool):
    def __init__(self, gate: AsyncHostGate, **settings: Any) -> None:
        super().__init__(**settings)
        self._gate = gate

    async def handle_async_request(self, request: httpcore2.Request) -> httpcore2.Response:
        host = request.url.host
        await self._gate.enter(host)
        try:
            response = await self._sent(request)
        except BaseException:
            self._gate.leave(host)
            raise
        assert isinstance(response.stream, AsyncIterable)
        response.stream = AsyncReadingStream(response.stream, lambda: self._gate.leave(host))
        return without_phrase(response)

    async def _sent(self, request: httpcore2.Request) -> httpcore2.Response:
        try:
            return await super().handle_async_request(request)
        except STALE:
            if extensions_of(request).get(FRESH):
                raise
        await self.close_idle(request.url.origin)
        return await super().handle_async_request(request)

    def create_connection(self, origin: httpcore2.Origin) -> httpcore2.AsyncConnectionInterface:
        return AsyncWatchedConnection(super().create_connection(origin))

    async def close_idle(self, origin: httpcore2.Origin) -> None:
        for connection in self.connections:
            if connection.is_idle() and connection.can_handle_request(origin):
                await connection.aclose()

    async def aclose(self) -> None:
        keep_none(self)
        await super().aclose()


def without_phrase(response: httpcore2.Response) -> httpcore2.Response:
    """Drop the server's reason phrase, which httpx2 would log."""
    extensions_of(response).pop("reason_phrase", None)
    return response


class ReadingStream:
    """The body of a response; `end` is called on closing."""

    def __init__(self, stream: Iterable[bytes], end: Callable[[], None]) -> None:
        self._stream = stream
        self._end = end

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._stream)

    def close(self) -> None:
        try:
            getattr(self._stream, "close", int)()
        finally:
            self._end()


class AsyncReadingStream:
    def __init__(self, stream: AsyncIterable[bytes], end: Callable[[], None]) -> None:
        self._stream = stream
        self._end = end

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._stream)

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True):
            try:
                if (close := getattr(self._stream, "aclose", None)) is not None:
                    await close()
            finally:
                self._end()
