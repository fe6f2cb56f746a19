"""Connections that end at a deadline, even if the other side sends a byte now and then.

A time-out of the HTTP library holds for each read or write alone. Here each of them gets the time
that is left.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable
from functools import partial

import httpcore2

from .._running.aborting import ABORT
from .times import Deadline

PIECE = 16 * 1024  # bytes; one call to the system sends all of them or none


class TimedBackend(httpcore2.NetworkBackend):
    """A network backend of the HTTP library whose connections end at a deadline."""

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
            # If the first address never answers, there has to be time left for the next one.
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
    """Look up the addresses of a host, in the order in which they should be tried."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise httpcore2.ConnectError(error) from error
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class TimedStream(httpcore2.NetworkStream):
    """A connection whose reads, writes and handshakes end at the deadline or when it is shut."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: Deadline) -> None:
        self.stream = stream
        self.deadline = deadline
        opened, abort = stream.get_extra_info("socket"), ABORT.get()
        if abort is not None and isinstance(opened, socket.socket):
            # The method of a TLS socket would drop its state while another thread reads.
            abort.on_request(partial(socket.socket.shutdown, opened, socket.SHUT_RDWR))

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
