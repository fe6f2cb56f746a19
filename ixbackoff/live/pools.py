"""Pools of connections that serve one exchange at a time, with HTTP/2 as with HTTP/1.1.

Requests that share a connection share its fate: the deadline of one would end the others. So each
request has a connection of its own, even where HTTP/2 would allow for many.
"""

from __future__ import annotations

from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Callable,
    Collection,
    Generator,
    Iterable,
    Iterator,
)
from contextlib import contextmanager, suppress
from threading import get_ident
from typing import Generic, TypeVar

import anyio
import httpcore2
from h2.exceptions import ProtocolError

from .internals import extensions_of, has_trailing_data

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
        with remote_errors():
            response = self._connection.handle_request(request)
        assert isinstance(response.stream, Iterable)
        return with_stream(response, ReadingStream(response.stream, self._end))

    def _end(self, whole: bool) -> None:
        if not whole or self._pool_is_closed():
            self.close()

    def close(self) -> None:
        self._connection.close()


class Pool(httpcore2.ConnectionPool):
    closed = False

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
        with remote_errors():
            response = await self._connection.handle_async_request(request)
        assert isinstance(response.stream, AsyncIterable)
        return with_stream(response, AsyncReadingStream(response.stream, self))

    async def end(self, whole: bool) -> None:
        if not whole or self._pool_is_closed():
            await self.aclose()

    async def aclose(self) -> None:
        await self._connection.aclose()


class AsyncPool(httpcore2.AsyncConnectionPool):
    closed = False

    def create_connection(self, origin: httpcore2.Origin) -> httpcore2.AsyncConnectionInterface:
        return AsyncExclusive(super().create_connection(origin), lambda: self.closed)

    async def close_idle(self, origin: httpcore2.Origin) -> None:
        for connection in self.connections:
            if connection.is_idle() and connection.can_handle_request(origin):
                await connection.aclose()

    async def aclose(self) -> None:
        self.closed = True
        await super().aclose()


def with_stream(
    response: httpcore2.Response, stream: ReadingStream | AsyncReadingStream
) -> httpcore2.Response:
    return httpcore2.Response(
        response.status,
        headers=response.headers,
        content=stream,
        extensions={**extensions_of(response)},
    )


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
    def __init__(self, stream: AsyncIterable[bytes], connection: AsyncExclusive) -> None:
        self._stream = stream
        self._connection = connection
        self._whole = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with remote_errors():
            async for chunk in self._stream:
                yield chunk
        self._whole = True

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True):
            close = getattr(self._stream, "aclose", None)
            if close is not None:
                await close()
            await self._connection.end(self._whole)
