"""Connections to web servers, which are kept open from one command to the next."""

from __future__ import annotations

import os
import weakref
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from threading import Lock
from typing import TYPE_CHECKING, Literal, Self

from .._words.commands import Misuse
from .limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from anyio.lowlevel import RunVar

    from .transports import AsyncTransport, Transport


CLOSED = "These Connections are closed: use them inside their `with` block."


class Connections:
    """Connections to web servers that commands share, so that each need not open its own.

    By default `live()` makes connections of its own. Pass `Connections` to share them with other
    commands, and to close them at a time of your choice:

    >>> from tempfile import TemporaryDirectory
    >>> from ixbackoff import Download, N0, at
    >>> from ixbackoff.live import Connections, live, response_headers
    >>> from ixbackoff.testing.web import Origin
    >>> with (
    ...     TemporaryDirectory() as folder,
    ...     Origin({"/a": b"acorn"}) as origin,
    ...     Connections() as connections,
    ... ):
    ...     copy = at(N0).do(Download(f"{origin.url}/a", f"{folder}/a"))
    ...     copy.run(live(connections=connections))
    ...     response_headers(f"{origin.url}/a", connections=connections)["content-length"]
    '5'

    Unreferenced `Connections` are closed when Python collects them. On an event loop, connections
    stay open only inside `async with Connections() as connections`, because they have to be closed
    before the loop ends; otherwise each command opens its own.

    Args:
        limits: the time-outs, in seconds, and the other bounds of the exchanges.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self.limits = limits
        self._lock = Lock()
        self._closed = False
        self._opened: tuple[int, Transport] | None = None
        self._awaited: RunVar[AsyncTransport | Literal[False] | None] | None = None

    def opened(self) -> Transport:
        """Return the connections for threads of this process.

        Raises:
            Misuse: these `Connections` are closed.
        """
        process = os.getpid()
        with self._lock:
            if self._closed:
                raise Misuse(CLOSED)
            if self._opened is None or self._opened[0] != process:
                from .transports import Transport

                transport = Transport(self.limits)
                self._opened = process, transport
                weakref.finalize(self, closed_in, process, transport)
            return self._opened[1]

    @asynccontextmanager
    async def opened_async(self) -> AsyncGenerator[AsyncTransport]:
        """Yield the connections of this event loop, or else new ones for this block alone.

        Raises:
            Misuse: these `Connections` are closed.
        """
        from .transports import AsyncTransport

        kept = None if self._awaited is None else self._awaited.get()
        if self._closed or kept is False:
            raise Misuse(CLOSED)
        if kept:
            yield kept
        else:
            async with AsyncTransport(self.limits) as transport:
                yield transport

    def close(self) -> None:
        """Close the connections of threads."""
        with self._lock:
            self._closed = True
            opened, self._opened = self._opened, None
        if opened is not None:
            closed_in(*opened)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        from anyio.lowlevel import RunVar

        from .transports import AsyncTransport

        if self._awaited is None:
            self._awaited = RunVar("ixbackoff_connections", None)
        if self._awaited.get():
            raise Misuse("These Connections are open in this event loop: enter them once.")
        self._awaited.set(AsyncTransport(self.limits))
        return self

    async def __aexit__(self, *_: object) -> None:
        transport = None if self._awaited is None else self._awaited.get()
        if self._awaited is not None and transport:
            self._awaited.set(False)  # closed
            await transport.aclose()


def closed_in(process: int, transport: Transport) -> None:
    """Close connections in the process that opened them; a forked child only has copies."""
    if os.getpid() == process:
        transport.close()


def connections_of(limits: Limits | None, connections: Connections | None) -> Connections:
    """Return the given connections, or new ones with these limits.

    Raises:
        Misuse: `connections` have other limits than `limits`, or are of another class.
    """
    shared: object = connections
    if shared is None:
        return Connections(DEFAULT_LIMITS if limits is None else limits)
    if not isinstance(shared, Connections):
        raise Misuse(f"connections={shared!r}: give Connections(), or leave it out.")
    if limits not in (None, shared.limits):
        raise Misuse("These Connections have other limits: give Connections(limits) alone.")
    return shared
