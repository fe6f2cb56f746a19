"""Pools of connections, each of which serves one exchange at a time, whatever version of HTTP.

Requests that share a connection share its fate: the deadline of one would end the others. So each
has one of its own, also where HTTP/2 would allow for many.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import httpcore2
from h2.exceptions import ProtocolError


class Pool(httpcore2.ConnectionPool):
    """A pool for threads."""

    def create_connection(self, origin: httpcore2.Origin) -> httpcore2.ConnectionInterface:
        return Exclusive(super().create_connection(origin))


class AsyncPool(httpcore2.AsyncConnectionPool):
    """A pool for the tasks of one event loop."""

    def create_connection(self, origin: httpcore2.Origin) -> httpcore2.AsyncConnectionInterface:
        return AsyncExclusive(super().create_connection(origin))


class Exclusive(httpcore2.ConnectionInterface):
    """A connection that takes a request only while it has no other one.

    It is closed after an answer that was not read to its end: what is still on the way would fill
    the window of HTTP/2, in which all later answers have to fit. It is not used again if more has
    come than the answer: that would be taken for the next one.
    """

    def __init__(self, connection: httpcore2.ConnectionInterface) -> None:
        self._connection = connection

    def handle_request(self, request: httpcore2.Request) -> httpcore2.Response:
        with understood():
            answer = self._connection.handle_request(request)
        assert isinstance(answer.stream, Iterable)
        return httpcore2.Response(
            answer.status,
            headers=answer.headers,
            content=Rest(answer.stream, self._connection),
            extensions=vars(answer)["extensions"],
        )

    def close(self) -> None:
        self._connection.close()

    def info(self) -> str:
        return self._connection.info()

    def can_handle_request(self, origin: httpcore2.Origin) -> bool:
        return self._connection.can_handle_request(origin)

    def is_available(self) -> bool:
        return self._connection.is_idle() and self._connection.is_available()

    def is_connected(self) -> bool:
        return self._connection.is_connected()

    def has_expired(self) -> bool:
        return self._connection.has_expired() or has_more(self)

    def is_idle(self) -> bool:
        return self._connection.is_idle()

    def is_closed(self) -> bool:
        return self._connection.is_closed()


@contextmanager
def understood() -> Generator[None]:
    """Raise what the library of HTTP/2 says of an answer as an error of the other side."""
    try:
        yield
    except httpcore2.LocalProtocolError as error:
        if not isinstance(error.__context__, ProtocolError):
            raise
        raise httpcore2.RemoteProtocolError from error
    except (ProtocolError, ValueError) as error:
        raise httpcore2.RemoteProtocolError from error


def has_more(connection: Exclusive | AsyncExclusive) -> bool:
    """Return whether bytes have come that belong to no answer."""
    inner: Any = connection
    while getattr(inner, "_connection", None) is not None:
        inner = inner._connection
    state = getattr(inner, "_h11_state", None)
    return state is not None and connection.is_idle() and bool(state.trailing_data[0])


class Rest:
    """The body of an answer that is still to be read."""

    def __init__(self, stream: Iterable[bytes], connection: httpcore2.ConnectionInterface) -> None:
        self._stream = stream
        self._connection = connection
        self._whole = False

    def __iter__(self) -> Iterator[bytes]:
        with understood():
            yield from self._stream
        self._whole = True

    def close(self) -> None:
        getattr(self._stream, "close", int)()
        if not self._whole:
            self._connection.close()


class AsyncExclusive(httpcore2.AsyncConnectionInterface):
    """As `Exclusive`, awaited."""

    def __init__(self, connection: httpcore2.AsyncConnectionInterface) -> None:
        self._connection = connection

    async def handle_async_request(self, request: httpcore2.Request) -> httpcore2.Response:
        with understood():
            answer = await self._connection.handle_async_request(request)
        assert isinstance(answer.stream, AsyncIterable)
        return httpcore2.Response(
            answer.status,
            headers=answer.headers,
            content=AsyncRest(answer.stream, self._connection),
            extensions=vars(answer)["extensions"],
        )

    async def aclose(self) -> None:
        await self._connection.aclose()

    def info(self) -> str:
        return self._connection.info()

    def can_handle_request(self, origin: httpcore2.Origin) -> bool:
        return self._connection.can_handle_request(origin)

    def is_available(self) -> bool:
        return self._connection.is_idle() and self._connection.is_available()

    def is_connected(self) -> bool:
        return self._connection.is_connected()

    def has_expired(self) -> bool:
        return self._connection.has_expired() or has_more(self)

    def is_idle(self) -> bool:
        return self._connection.is_idle()

    def is_closed(self) -> bool:
        return self._connection.is_closed()


class AsyncRest:
    """As `Rest`, awaited."""

    def __init__(
        self, stream: AsyncIterable[bytes], connection: httpcore2.AsyncConnectionInterface
    ) -> None:
        self._stream = stream
        self._connection = connection
        self._whole = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with understood():
            async for chunk in self._stream:
                yield chunk
        self._whole = True

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True):
            close = getattr(self._stream, "aclose", None)
            if close is not None:
                await close()
            if not self._whole:
                await self._connection.aclose()
