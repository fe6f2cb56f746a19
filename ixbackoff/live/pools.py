"""Pools of connections that serve one exchange at a time, with HTTP/2 as with HTTP/1.1.

Requests that share a connection share its fate: the deadline of one would end the others. So each
request has a connection of its own, even where HTTP/2 would allow for many.
"""

from __future__ import annotations

from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
)
from contextlib import contextmanager, suppress
from threading import get_ident
from typing import Any, Generic, TypeVar

import anyio
import httpcore2
from h2.exceptions import ProtocolError

from .gates import AsyncHostGate, HostGate
from .httpinternals import extensions_of, has_trailing_data
from .sockets import USE, Use

# These may mean that the server had closed the connection while it was unused.
STALE = (httpcore2.ReadError, httpcore2.WriteError, httpcore2.RemoteProtocolError)

FRESH = "ixbackoff-fresh"

C = TypeVar("C", httpcore2.ConnectionInterface, httpcore2.AsyncConnectionInterface)


class OneExchange(Generic[C]):
    """A connection that takes a request only while it has no other one.

    The connection is closed after a response that was not read to its end: the rest would fill the
    window of HTTP/2, which all later responses share. The connection is not used again if it
    received more than the response: the excess would be taken for the next response.
    """

    def __init__(self, connection: C, is_closed: Callable[[], bool]) -> None:
        self._connection: C = connection
        self._pool_is_closed = is_closed  # if true, a connection closes after its response
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
        return self._connection.is_idle() and self._connection.is_available()

    def is_connected(self) -> bool:
        return self._connection.is_connected()

    def has_expired(self) -> bool:
        return self._connection.has_expired() or has_trailing_data(self._connection)

    def is_idle(self) -> bool:
        return self._connection.is_idle()

    def is_closed(self) -> bool:
        return self._connection.is_closed()


class Exclusive(OneExchange[httpcore2.ConnectionInterface], httpcore2.ConnectionInterface):
    def handle_request(self, request: httpcore2.Request) -> httpcore2.Response:
        self.thread = get_ident()
        self.begin(request)
        with remote_errors():
            response = self._connection.handle_request(request)
        assert isinstance(response.stream, Iterable)
        response.stream = ReadingStream(response.stream, self._end)
        return response

    def _end(self, whole: bool) -> None:
        if not whole or self._pool_is_closed():
            self.close()

    def close(self) -> None:
        self._connection.close()


class Pool(httpcore2.ConnectionPool):
    """A pool behind the gate of a transport; the context variable `USE` has the deadline."""

    closed = False

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
        response.stream = ReadingStream(response.stream, lambda _: self._gate.leave(host))
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
        return Exclusive(super().create_connection(origin), lambda: self.closed)

    def close(self) -> None:
        self.closed = True  # first: an exchange that ends after this closes its own connection
        super().close()

    def close_idle(self, origin: httpcore2.Origin) -> None:
        for connection in self.connections:
            if connection.is_idle() and connection.can_handle_request(origin):
                connection.close()

    def retire(self, interrupted: Collection[int]) -> None:
        """Close idle connections and those of interrupted threads; others close after their use."""
        self.closed = True
        for connection in self.connections:
            assert isinstance(connection, Exclusive)
            if connection.is_idle() or connection.thread in {0, *interrupted}:
                with suppress(Exception):  # interrupted anywhere, it may be in any state
                    connection.close()


class AsyncExclusive(
    OneExchange[httpcore2.AsyncConnectionInterface], httpcore2.AsyncConnectionInterface
):
    async def handle_async_request(self, request: httpcore2.Request) -> httpcore2.Response:
        self.begin(request)
        with remote_errors():
            response = await self._connection.handle_async_request(request)
        assert isinstance(response.stream, AsyncIterable)
        response.stream = AsyncReadingStream(response.stream, self._end)
        return response

    async def _end(self, whole: bool) -> None:
        if not whole or self._pool_is_closed():
            await self.aclose()

    async def aclose(self) -> None:
        await self._connection.aclose()


class AsyncPool(httpcore2.AsyncConnectionPool):
    closed = False

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

        async def leave(_: bool) -> None:
            self._gate.leave(host)

        assert isinstance(response.stream, AsyncIterable)
        response.stream = AsyncReadingStream(response.stream, leave)
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
        return AsyncExclusive(super().create_connection(origin), lambda: self.closed)

    async def close_idle(self, origin: httpcore2.Origin) -> None:
        for connection in self.connections:
            if connection.is_idle() and connection.can_handle_request(origin):
                await connection.aclose()

    async def aclose(self) -> None:
        self.closed = True
        await super().aclose()


def without_phrase(response: httpcore2.Response) -> httpcore2.Response:
    """Drop the server's reason phrase, which httpx2 would log."""
    extensions_of(response).pop("reason_phrase", None)
    return response


@contextmanager
def remote_errors() -> Generator[None]:
    """Raise the HTTP/2 library's errors about a response as errors of the server."""
    try:
        yield
    except httpcore2.LocalProtocolError as error:
        if not isinstance(error.__context__, ProtocolError):
            raise
        raise httpcore2.RemoteProtocolError from error
    except (ProtocolError, ValueError) as error:
        raise httpcore2.RemoteProtocolError from error


class ReadingStream:
    """The body of a response; `end` is called on closing, with true if it was read to its end."""

    def __init__(self, stream: Iterable[bytes], end: Callable[[bool], None]) -> None:
        self._stream = stream
        self._end = end
        self._whole = False

    def __iter__(self) -> Iterator[bytes]:
        with remote_errors():
            yield from self._stream
        self._whole = True

    def close(self) -> None:
        try:
            getattr(self._stream, "close", int)()
        finally:
            self._end(self._whole)


class AsyncReadingStream:
    def __init__(
        self, stream: AsyncIterable[bytes], end: Callable[[bool], Awaitable[None]]
    ) -> None:
        self._stream = stream
        self._end = end
        self._whole = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with remote_errors():
            async for chunk in self._stream:
                yield chunk
        self._whole = True

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True):
            try:
                if (close := getattr(self._stream, "aclose", None)) is not None:
                    await close()
            finally:
                await self._end(self._whole)
