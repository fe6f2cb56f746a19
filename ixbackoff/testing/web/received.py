"""Requests that an origin has received."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BufferedReader

HEAD_SIZE = 64 * 1024  # bytes of the first line and the headers
BODY_SIZE = 16 * 1024 * 1024  # bytes
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@dataclass(frozen=True)
class ReceivedRequest:
    """A request, as a client sent it.

    >>> request = ReceivedRequest("POST", "/orders?urgent=1", {}, b"two acorns")
    >>> request.path, request.body
    ('/orders', b'two acorns')

    Attributes:
        method: the method, such as `GET`.
        target: the path, with the query.
        headers: the headers, by their names in lower case.
        body: the body; empty if there was none.
        at: the seconds from the start of `with Origin(...)` to the end of the request; ignored in
            comparisons.
        version: the version of HTTP; ignored in comparisons.
    """

    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    body: bytes = b""
    at: float = field(default=0.0, compare=False)
    version: str = field(default="HTTP/1.1", compare=False)

    @property
    def path(self) -> str:
        """The target without the query."""
        return self.target.partition("?")[0]

    @property
    def keep_alive(self) -> bool:
        """True for HTTP/1.1, unless the client wants the connection closed after the answer."""
        wanted = self.headers.get("connection", "").lower()
        return self.version != "HTTP/1.0" and "close" not in wanted


class BodyTooLarge(Exception):
    """The body of a request is larger than `BODY_SIZE`."""


def read_request(client: socket.socket) -> ReceivedRequest:
    """Read a request; raise ValueError unless it is complete and has the form of HTTP/1."""
    with client.makefile("rb") as stream:
        if not stream.peek(1)[:1].isalpha():  # refuse a TLS client, which would wait for an answer
            raise ValueError("The client sent no HTTP/1 request.")
        first, *lines = head_of(stream)
        method, target, version = first.split(" ")
        headers: dict[str, str] = {}
        for line in lines:
            name, _, value = line.partition(":")
            name, value = name.lower(), value.strip()
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        if headers.get("expect", "").lower() == "100-continue":
            client.sendall(CONTINUE)
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body = chunked_body(stream)
        else:
            body = exactly(stream, int(headers.get("content-length", "0")))
        return ReceivedRequest(method, target, headers, body, version=version)


def head_of(stream: BufferedReader) -> list[str]:
    lines: list[str] = []
    room = HEAD_SIZE
    while line := stream.readline(room):
        room -= len(line)
        text = line.decode("latin-1").rstrip("\r\n")
        if not text:
            return lines
        lines.append(text)
    raise ValueError("The headers broke off or are too long.")


def chunked_body(stream: BufferedReader) -> bytes:
    chunks = bytearray()
    while size := int(stream.readline(HEAD_SIZE).partition(b";")[0], 16):
        chunks += exactly(stream, size, read=len(chunks))
        stream.readline(HEAD_SIZE)
    head_of(stream)  # headers may follow the body
    return bytes(chunks)


def exactly(stream: BufferedReader, size: int, read: int = 0) -> bytes:
    """Read `size` more bytes of a body, after the first `read` bytes."""
    if size < 0:
        raise ValueError("A length is negative.")
    if read + size > BODY_SIZE:
        raise BodyTooLarge
    part = stream.read(size)
    if len(part) < size:
        raise ValueError("The body broke off.")
    return part
