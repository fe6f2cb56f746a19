"""The connection between a client and the test server, by which a fault sends its answer."""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from email.utils import formatdate
from http.client import responses
from threading import Event
from typing import Protocol

from .received import ReceivedRequest
from .served_documents import Answer

RESET = struct.pack("ii", 1, 0)  # SO_LINGER on, for 0 seconds: closing sends a reset
BODILESS = (204, 304)  # statuses of answers without a body, and so without `Content-Length`


class Host(Protocol):
    """The part of an origin that a connection needs."""

    stopped: Event

    def carry_out(self, request: ReceivedRequest) -> Answer: ...

    def go_down(self, seconds: float) -> None: ...


class Connection:
    """A connection to a client, by which a fault that you write answers the client's request.

    The connection is closed when the fault returns. If no fault answers a request, the connection
    stays open for further requests, until the client wants it closed or is silent for 10 seconds,
    or until the origin goes down or ends.

    >>> from dataclasses import dataclass
    >>> from urllib.request import urlopen
    >>> from ixbackoff.testing.web import Connection, Origin
    >>> @dataclass(frozen=True)
    ... class Shouting:
    ...     def answer(self, connection: Connection) -> None:
    ...         usual = connection.carry_out()
    ...         connection.send_answer(usual._replace(body=usual.body.upper()))
    >>> with Origin({"/a": b"acorn"}, {"/a": [Shouting()]}) as origin:
    ...     with urlopen(origin.url + "/a") as answer:
    ...         answer.read()
    b'ACORN'

    Attributes:
        request: the request to answer.
    """

    request: ReceivedRequest

    def __init__(
        self, client: socket.socket, request: ReceivedRequest, host: Host, keep_alive: bool = False
    ) -> None:
        self.request = request
        self._keep_alive = keep_alive
        self._client = client
        self._host = host
        self._answer: Answer | None = None

    def carry_out(self) -> Answer:
        """Carry out the request, once, and return the usual answer of the server.

        If a fault does not call this method, the request has no effect: a `PUT` stores nothing.
        """
        if self._answer is None:
            self._answer = self._host.carry_out(self.request)
        return self._answer

    def send_answer(self, answer: Answer, size: int | None = None) -> None:
        """Send an answer with its body, or with the first `size` bytes of it.

        `Content-Length` is the size of the whole body. An answer to `HEAD` has no body.
        """
        length = {} if answer.status in BODILESS else {"Content-Length": str(len(answer.body))}
        self.send_head(answer.status, length | dict(answer.headers))
        if self.request.method != "HEAD":
            self.send(answer.body[:size])

    def send_head(self, status: int, headers: Mapping[str, str]) -> None:
        """Send a status line, `Date`, `headers`, and `Connection: close` unless `keep_alive`."""
        end: Mapping[str, str] = {} if self._keep_alive else {"Connection": "close"}
        all_headers = {"Date": formatdate(usegmt=True), **end, **headers}
        lines = [f"HTTP/1.1 {status} {responses.get(status, '')}"]
        lines += [f"{name}: {value}" for name, value in all_headers.items()]
        self.send("".join(f"{line}\r\n" for line in [*lines, ""]).encode("latin-1"))

    def send(self, data: bytes) -> None:
        """Send raw bytes."""
        self._client.sendall(data)

    def pause(self, seconds: float) -> bool:
        """Wait for `seconds`; return false as soon as the origin ends."""
        return not self._host.stopped.wait(seconds)

    def wait_for_end(self) -> None:
        """Wait until the client disconnects or the origin ends."""
        self._client.settimeout(None)
        while self._client.recv(4096):
            pass

    def reset(self) -> None:
        """Have the connection closed by a reset, which discards data that are not sent yet."""
        self._client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

    def go_down(self, seconds: float) -> None:
        """Make the origin refuse new connections for `seconds`."""
        self._host.go_down(seconds)
