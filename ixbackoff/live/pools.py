"""Pools of connections, each of which serves one exchange at a time, whatever version of HTTP.

Requests that share a connection share its fate: the deadline of one would end the others. So each
has one of its own, also where HTTP/2 would allow for many.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

import anyio
import httpcore2
from h2.exceptions import ProtocolError

MOMENT = 0.1  # seconds


class Pool:
    """A pool for threads.

    A connection is taken from those that nobody uses, the one that was used last, and put back once
    its answer was read to the end. After an answer that was not, it is closed: what is still on the
    way would fill the window of HTTP/2, in which all later answers have to fit. It is not used
    again if more has come than the answer: that would be taken for the next one.

    Args:
        maker: makes connections; its own pool is not used.
        most: how many connections that nobody uses are kept.
        longest: the seconds for which one is kept.
    """

    def __init__(self, maker: httpcore2.ConnectionPool, most: int, longest: float) -> None:
        self._maker, self._most, self._longest = maker, most, longest
        self._lock = Lock()
        self._used: set[httpcore2.ConnectionInterface] = set()
        self._idle: list[Idle] = []

    def handle_request(self, request: httpcore2.Request) -> httpcore2.Response:
        connection = self._taken(request.url.origin)
        try:
            with understood():
                answer = connection.handle_request(request)
        except httpcore2.ConnectionNotAvailable:  # HTTP/2, and the other side has enough of it
            self._closed([connection])
            return self.handle_request(request)
        except BaseException:
            self._closed([connection])
            raise
        assert isinstance(answer.stream, Iterable)
        return httpcore2.Response(
            answer.status,
            headers=answer.headers,
            content=Rest(answer.stream, lambda whole: self._put_back(connection, whole)),
            extensions=vars(answer)["extensions"],
        )

    def _taken(self, origin: httpcore2.Origin) -> httpcore2.ConnectionInterface:
        """Take a connection to an origin, or make one."""
        while True:
            with self._lock:
                fit = [one for one in self._idle if one.connection.can_handle_request(origin)]
                if fit:
                    self._idle.remove(fit[-1])
                    connection = fit[-1].connection
                else:
                    connection = self._maker.create_connection(origin)
                self._used.add(connection)
            if not (fit and self._is_over(fit[-1])):
                return connection
            self._closed([connection])

    def _is_over(self, idle: Idle) -> bool:
        """Return whether a connection cannot be used again.

        One that the other side has closed this very moment shows when it is used, anyway.
        """
        looks = monotonic() - idle.since > MOMENT
        return (looks and idle.connection.has_expired()) or has_more(idle.connection)

    def _put_back(self, connection: httpcore2.ConnectionInterface, whole: bool) -> None:
        if not (whole and connection.is_idle() and connection.is_available()):
            self._closed([connection])
            return
        now = monotonic()
        with self._lock:
            if connection not in self._used:  # all were closed meanwhile
                return
            self._used.remove(connection)
            self._idle.append(Idle(connection, now))
            old = [each for each in self._idle if each.since < now - self._longest]
            old = old or self._idle[: -self._most]
            self._idle = [each for each in self._idle if each not in old]
        self._closed([each.connection for each in old])

    def _closed(self, connections: Iterable[httpcore2.ConnectionInterface]) -> None:
        with self._lock:
            self._used.difference_update(connections)
        for connection in connections:
            connection.close()

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            connections = [*self._used, *(each.connection for each in self._idle)]
            self._idle.clear()
        self._closed(connections)


class Idle(NamedTuple):
    """A connection that nobody uses.

    Attributes:
        connection: the connection.
        since: the time since when.
    """

    connection: httpcore2.ConnectionInterface
    since: float


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


def has_more(
    connection: httpcore2.ConnectionInterface | httpcore2.AsyncConnectionInterface,
) -> bool:
    """Return whether bytes have come that belong to no answer."""
    inner: Any = connection
    while getattr(inner, "_connection", None) is not None:
        inner = inner._connection
    state = getattr(inner, "_h11_state", None)
    return state is not None and connection.is_idle() and bool(state.trailing_data[0])


class Rest:
    """The body of an answer that is still to be read.

    Args:
        stream: the body.
        over: called at the end, with true if it was read to the end.
    """

    def __init__(self, stream: Iterable[bytes], over: Callable[[bool], None]) -> None:
        self._stream = stream
        self._over = over
        self._whole = False

    def __iter__(self) -> Iterator[bytes]:
        with understood():
            yield from self._stream
        self._whole = True

    def close(self) -> None:
        try:
            getattr(self._stream, "close", int)()
        finally:
            self._over(self._whole)


class AsyncPool(httpcore2.AsyncConnectionPool):
    """A pool for the tasks of one event loop."""

    def create_connection(self, origin: httpcore2.Origin) -> httpcore2.AsyncConnectionInterface:
        return AsyncExclusive(super().create_connection(origin))


class AsyncExclusive(httpcore2.AsyncConnectionInterface):
    """A connection that takes a request only while it has no other one.

    It is closed after an answer that was not read to its end, and not used again if more has come
    than the answer.
    """

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
