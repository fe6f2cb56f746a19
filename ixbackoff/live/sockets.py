"""Connections that end at a deadline, however the other side drips.

A time-out of the HTTP library is for one read or write, and fixed before the first of them; here
each of them gets what is left.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable
from functools import partial

import httpcore2

from .._running.aborting import ENDING
from .times import Deadline

PIECE = 16 * 1024  # bytes; small enough to be sent by one call to the system or none


class TimedBackend(httpcore2.NetworkBackend):
    """Opens connections that end at a deadline."""

    def __init__(self, deadline: Deadline) -> None:
        self.deadline = deadline
        self.sockets = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        addresses = resolved(host, port)
        while True:
            address = addresses.pop(0)
            # The first of two addresses may be a black hole: some of the time is for the other.
            share = self.deadline.left / (1 + len(addresses))
            seconds = share if timeout is None else min(timeout, share)
            try:
                if not seconds:
                    raise httpcore2.ConnectTimeout
                stream = self.sockets.connect_tcp(
                    address, port, seconds, local_address, socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if not addresses:
                    raise
            else:
                return TimedStream(stream, self.deadline)


def resolved(host: str, port: int) -> list[str]:
    """The addresses of a host, in the order in which they are to be tried."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise httpcore2.ConnectError(error) from error
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class TimedStream(httpcore2.NetworkStream):
    """A connection; reading, writing and shaking hands end at the deadline, or are ended."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: Deadline) -> None:
        self.stream = stream
        self.deadline = deadline
        opened, ending = stream.get_extra_info("socket"), ENDING.get()
        if ending is not None and isinstance(opened, socket.socket):
            # Not the method of a TLS socket, which would take its state away from who reads now.
            ending.by(partial(socket.socket.shutdown, opened, socket.SHUT_RDWR))

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        seconds = self.deadline.of(timeout)
        if not seconds:
            raise httpcore2.ReadTimeout
        return self.stream.read(max_bytes, seconds)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), PIECE):
            seconds = self.deadline.of(timeout)
            if not seconds:
                raise httpcore2.WriteTimeout
            self.stream.write(buffer[start : start + PIECE], seconds)

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        seconds = self.deadline.of(timeout)
        if not seconds:
            self.close()
            raise httpcore2.ConnectTimeout
        secured = self.stream.start_tls(ssl_context, server_hostname, seconds)
        return TimedStream(secured, self.deadline)

    def close(self) -> None:
        self.stream.close()

    def get_extra_info(self, info: str) -> object:
        return self.stream.get_extra_info(info)
