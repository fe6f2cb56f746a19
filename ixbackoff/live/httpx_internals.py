"""Private names and untyped parts of the HTTP library, as read in httpx2 and httpcore2 2.16.2."""

from __future__ import annotations

from threading import RLock
from typing import Any

import httpcore2
import httpx2


class Sender(httpx2.HTTPTransport):
    """The library's own transport, with `pool` in place of the pool that it would make."""

    def __init__(self, pool: httpcore2.ConnectionPool) -> None:
        self._pool = pool


class AsyncSender(httpx2.AsyncHTTPTransport):
    def __init__(self, pool: httpcore2.AsyncConnectionPool) -> None:
        self._pool = pool


def has_trailing_data(
    connection: httpcore2.ConnectionInterface | httpcore2.AsyncConnectionInterface,
) -> bool:
    """Return whether an idle connection has received bytes that belong to no response.

    A connection may wrap another one, its attribute `_connection`. The innermost one, if it is of
    HTTP/1.1, has the attribute `_h11_state`: its parser, an `h11.Connection`.
    """
    inner: Any = connection
    while getattr(inner, "_connection", None) is not None:
        inner = inner._connection
    parser = getattr(inner, "_h11_state", None)
    return parser is not None and connection.is_idle() and bool(parser.trailing_data[0])


def lock_in_c(pool: httpcore2.ConnectionPool) -> None:
    """Replace the lock of a pool by one that Ctrl-C cannot leave locked.

    The `__enter__` of the library's lock is Python code, where Ctrl-C may be raised after the lock
    was acquired and before the `with` block begins. Then no thread could ever acquire it again.
    """
    inner: Any = pool
    inner._optional_thread_lock = RLock()


def keep_none(pool: httpcore2.ConnectionPool | httpcore2.AsyncConnectionPool) -> None:
    """Make a pool close each connection after its response."""
    inner: Any = pool
    inner._max_keepalive_connections = 0


def report_cuts(stream: httpcore2.NetworkStream) -> None:
    """Make a TLS connection that is cut raise `ssl.SSLEOFError`, instead of seeming to end."""
    secured: Any = stream.get_extra_info("socket")
    secured.suppress_ragged_eofs = False  # an undocumented attribute of `ssl.SSLSocket`


def extensions_of(message: httpcore2.Request | httpcore2.Response) -> dict[str, Any]:
    """Return the extensions of a message, whose type the library leaves partly unknown."""
    extensions: dict[str, Any] = vars(message)["extensions"]
    return extensions
