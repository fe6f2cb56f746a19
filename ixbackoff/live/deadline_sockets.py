"""Connections that end at the deadline of the exchange, even if a byte arrives now and then.

A time-out of the HTTP library is for each read or write alone. Here each of them gets at most the
remaining time of the exchange. A connection serves many exchanges one after another, so it has no
deadline of its own: the context variable `USE` has the deadline of the current exchange.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import Lock
from typing import Any

import anyio
import httpcore2

from .._running.aborting_handlers import ABORT
from .allowed_addresses import Allowed, checked
from .httpx_internals import report_cuts
from .limits import Deadline

PIECE = 16 * 1024  # bytes; one system call usually sends all of them


class Use:
    """The use of connections by one exchange of a thread."""

    def __init__(self, deadline: Deadline) -> None:
        self.deadline = deadline
        self.aborted = False  # whether the command of the exchange was aborted
        self._lock = Lock()
        self._sockets: list[socket.socket] = []
        abort = ABORT.get()
        if abort is not None:
            abort.on_request(self.abort)

    def seconds(self, opened: object, timeout: float | None) -> float:
        """Begin a read or a write on a socket; return its time limit in seconds."""
        if isinstance(opened, socket.socket) and opened not in self._sockets:
            with self._lock:
                self._sockets.append(opened)
                if self.aborted:
                    shut(opened)
        return self.deadline.shorten(timeout)

    def abort(self) -> None:
        """End the current read or write, from another thread."""
        with self._lock:
            self.aborted = True
            for opened in self._sockets:
                shut(opened)

    def end(self) -> None:
        with self._lock:
            self._sockets.clear()


USE: ContextVar[Use] = ContextVar("ixbackoff_use_of_connections")


@contextmanager
def used(deadline: Deadline) -> Generator[Use]:
    use = Use(deadline)
    token = USE.set(use)
    try:
        yield use
    finally:
        USE.reset(token)
        use.end()


def shut(opened: socket.socket) -> None:
    with suppress(OSError):
        # The method of `SSLSocket` would drop the TLS state while another thread reads.
        socket.socket.shutdown(opened, socket.SHUT_RDWR)


class TimedBackend(httpcore2.NetworkBackend):
    """A network backend of the HTTP library whose connections end at a deadline."""

    def __init__(self, allowed: Allowed | None) -> None:
        self.allowed = allowed
        self.sockets = httpcore2.SyncBackend()

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *rest: Any, **named: Any
    ) -> httpcore2.NetworkStream:
        use = USE.get()
        addresses = checked(resolved(host, port), self.allowed)
        while True:
            address = addresses.pop(0)
            # An address that never answers must leave time for the next one.
            share = use.deadline.left / (1 + len(addresses))
            seconds = share if timeout is None else min(timeout, share)
            try:
                if not seconds:
                    raise httpcore2.ConnectTimeout
                stream = self.sockets.connect_tcp(address, port, seconds, *rest, **named)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if not addresses:
                    raise
            else:
                return TimedStream(stream)


def resolved(host: str, port: int) -> list[str]:
    """Look up the addresses of a host, in the order in which to try them."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise httpcore2.ConnectError(error) from error
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


async def resolved_async(host: str, port: int) -> list[str]:
    try:
        found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise httpcore2.ConnectError(error) from error
    return list(dict.fromkeys(address[0] for *_, address in found))


class TimedStream(httpcore2.NetworkStream):
    """A connection whose reads, writes and handshakes end at the deadline of the current `Use`."""

    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self.stream = stream
        self.socket = stream.get_extra_info("socket")

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        seconds = USE.get().seconds(self.socket, timeout)
        if not seconds:
            raise httpcore2.ReadTimeout
        return self.stream.read(max_bytes, seconds)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), PIECE):
            seconds = USE.get().seconds(self.socket, timeout)
            if not seconds:
                raise httpcore2.WriteTimeout
            self.stream.write(buffer[start : start + PIECE], seconds)

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        seconds = USE.get().seconds(self.socket, timeout)
        if not seconds:
            self.close()
            raise httpcore2.ConnectTimeout
        stream = self.stream.start_tls(ssl_context, server_hostname, seconds)
        report_cuts(stream)
        return TimedStream(stream)

    def close(self) -> None:
        self.stream.close()

    def get_extra_info(self, info: str) -> object:
        return self.stream.get_extra_info(info)


class AsyncBackend(httpcore2.AsyncNetworkBackend):
    """A network backend of the HTTP library that leaves no connection open when it is cancelled."""

    def __init__(self, allowed: Allowed | None) -> None:
        self.allowed = allowed
        made: object = httpcore2.AnyIOBackend()
        assert isinstance(made, httpcore2.AsyncNetworkBackend)
        self.sockets = made

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *rest: Any, **named: Any
    ) -> httpcore2.AsyncNetworkStream:
        addresses = [host]
        if self.allowed is not None:
            addresses = checked(await resolved_async(host, port), self.allowed)
        while True:
            address = addresses.pop(0)
            try:
                stream = await self.sockets.connect_tcp(address, port, timeout, *rest, **named)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if not addresses:
                    raise
            else:
                return ClosingStream(stream)


class ClosingStream(httpcore2.AsyncNetworkStream):
    """A connection that closes if its handshake is cancelled, and fails if TLS breaks off."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self.stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        read = await self.stream.read(max_bytes, timeout)
        secured = None if read else self.get_extra_info("ssl_object")
        if isinstance(secured, ssl.SSLObject):
            try:
                secured.read(1)  # empty again if the server announced the end; raises otherwise
            except ssl.SSLError as error:
                raise httpcore2.ReadError(error) from error
        return read

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self.stream.write(buffer, timeout)

    async def start_tls(self, *args: Any, **named: Any) -> httpcore2.AsyncNetworkStream:
        try:
            return ClosingStream(await self.stream.start_tls(*args, **named))
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.stream.aclose()
            raise

    async def aclose(self) -> None:
        await self.stream.aclose()

    def get_extra_info(self, info: str) -> object:
        return self.stream.get_extra_info(info)
