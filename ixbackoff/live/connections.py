"""Connections to web servers, which are kept open from one command to the next."""

from __future__ import annotations

import os
import weakref
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from threading import Lock, get_ident
from typing import TYPE_CHECKING, Literal, Self, TypeVar

from .._words.commands import Misuse
from .limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from anyio.lowlevel import RunVar

    from .pooled_transports import AsyncTransport, Transport


A = TypeVar("A")

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
        self._opened: dict[int, Transport] = {}
        self._interrupted: list[int] = []
        self._awaited: RunVar[AsyncTransport | Literal[False] | None] | None = None
        weakref.finalize(self, close_here, self._opened)

    def opened(self) -> Transport:
        """Return the connections for threads of this process."""
        process = os.getpid()
        with self._lock:
            if self._closed:
                raise Misuse(CLOSED)
            transport = self._opened.get(process)
            if transport is not None and self._interrupted:
                transport.retire(self._interrupted)
                transport = None
            if transport is None:
                from .pooled_transports import Transport

                transport = self._opened[process] = Transport(self.limits)
                self._interrupted.clear()
            return transport

    # Python raises `KeyboardInterrupt` after any call, in the HTTP library as well. A connection of
    # the pool, a place of the gate or a lock may be taken by then, and have no owner yet. The next
    # exchange with the same host must not wait for any of them.
    #
    # Things that don't work:
    # - `try` and `finally` around each call that takes one: the interrupt may be raised between the
    #   call and its `try`, or in the first instruction of an `__exit__`.
    # - Repairing the pool: the interrupt may have struck at any line of the library.
    #
    # What we do: whatever an interrupted exchange has used counts as lost. `carry_out` marks the
    # thread; a second interrupt cannot prevent that, because no call lies between the `except` and
    # the `append`. `opened` then starts with a new transport, which has pools and a gate of its
    # own, and closes those connections of the old one that no running exchange uses.
    #
    # What remains: exchanges of other threads that have begun before do not count at the new gate.
    def carry_out(self, exchange: Callable[[], A]) -> A:
        """Return the result of an exchange; after an interrupt, `opened` drops the transport."""
        mark, thread = self._interrupted.append, get_ident()
        try:
            return exchange()
        except Exception:
            raise
        except BaseException:
            mark(thread)
            raise

    @asynccontextmanager
    async def opened_async(self) -> AsyncGenerator[AsyncTransport]:
        """Yield the connections of this event loop, or else new ones for this block alone."""
        from .pooled_transports import AsyncTransport

        shared = None if self._awaited is None else self._awaited.get()
        if self._closed or shared is False:
            raise Misuse(CLOSED)
        if shared:
            yield shared
        else:
            async with AsyncTransport(self.limits) as transport:
                yield transport

    def close(self) -> None:
        """Close the connections of threads; those of an event loop close after `async with`."""
        with self._lock:
            self._closed = True
        close_here(self._opened)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        from anyio.lowlevel import RunVar

        from .pooled_transports import AsyncTransport

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


def close_here(opened: dict[int, Transport]) -> None:
    """Close the connections that this process opened, but none that it got by a fork."""
    transport = opened.pop(os.getpid(), None)
    if transport is not None:
        transport.close()


def connections_of(limits: Limits | None, connections: Connections | None) -> Connections:
    shared: object = connections
    if shared is None:
        return Connections(DEFAULT_LIMITS if limits is None else limits)
    if not isinstance(shared, Connections):
        raise Misuse(f"connections={shared!r}: give Connections(), or leave it out.")
    if limits not in (None, shared.limits):
        raise Misuse("limits= are not those of connections=: pass them to Connections(...) only.")
    return shared
