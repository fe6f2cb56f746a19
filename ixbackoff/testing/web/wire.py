"""Connections: a client and its request, through which a fault answers."""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from email.utils import formatdate
from http.client import responses
from threading import Event
from typing import Protocol

from .answers import Answer
from .received import ReceivedRequest

RESET = struct.pack("ii", 1, 0)  # SO_LINGER on, for 0 seconds: closing sends a reset
BODILESS = (204, 304)
"""Statuses of answers that have no body, nor the length of one."""


class Host(Protocol):
    """The origin, as a connection sees it."""

    stopped: Event

    def carry_out(self, request: ReceivedRequest) -> Answer: ...

    def go_down(self, seconds: float) -> None: ...


class Connection:
    """A client and its request: what a fault of your own answers through.

    The connection is closed when the fault returns. After an answer without a fault it is kept, if
    the client wants that.

    >>> from dataclasses import dataclass
    >>> from urllib.request import urlopen
    >>> from ixbackoff.testing.web import Connection, Origin
    >>> @dataclass(frozen=True)
    ... class Shouting:
    ...     def answer(self, connection: Connection) -> None:
    ...         well = connection.carry_out()
    ...         connection.send_answer(well._replace(body=well.body.upper()))
    >>> with Origin({"/a": b"acorn"}, {"/a": [Shouting()]}) as origin:
    ...     with urlopen(origin.url + "/a") as answer:
    ...         answer.read()
    b'ACORN'

    Attributes:
        request: the request that is to be answered.
    """

    request: ReceivedRequest

    def __init__(
        self, client: socket.socket, request: ReceivedRequest, host: Host, kept: bool = False
    ) -> None:
        self.request = request
        self._kept = kept
        self._client = client
        self._host = host
        self._answer: Answer | None = None

    def carry_out(self) -> Answer:
        """Carry out the request, once, and return the answer that is due when nothing fails.

        A fault that does not call it leaves the request undone: a `PUT` stores nothing.
        """
        if self._answer is None:
            self._answer = self._host.carry_out(self.request)
        return self._answer

    def send_answer(self, answer: Answer, size: int | None = None) -> None:
        """Send an answer, with the first `size` bytes of its body only if that is given.

        The headers say the length of the whole body. `HEAD` is answered without a body.
        """
        length = {} if answer.status in BODILESS else {"Content-Length": str(len(answer.body))}
        self.send_head(answer.status, length | dict(answer.headers))
        if self.request.method != "HEAD":
            self.send(answer.body[:size])

    def send_head(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the status line and the headers, with `Date` and, mostly, `Connection: close`."""
        end: Mapping[str, str] = {} if self._kept else {"Connection": "close"}
        all_headers = {"Date": formatdate(usegmt=True), **end, **headers}
        lines = [f"HTTP/1.1 {status} {responses.get(status, '')}"]
        lines += [f"{name}: {value}" for name, value in all_headers.items()]
        self.send("".join(f"{line}\r\n" for line in [*lines, ""]).encode("latin-1"))

    def send(self, data: bytes) -> None:
        """Send these bytes as they are."""
        self._client.sendall(data)

    def pause(self, seconds: float) -> bool:
        """Wait for so many seconds; `False`, at once, if the origin ends meanwhile."""
        return not self._host.stopped.wait(seconds)

    def wait_for_end(self) -> None:
        """Wait until the client goes away or the origin ends."""
        self._client.settimeout(None)
        while self._client.recv(4096):
            pass

    def reset(self) -> None:
        """Make the end of the connection a reset, which discards what the client has not read."""
        self._client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

    def go_down(self, seconds: float) -> None:
        """Let the origin refuse new connections for so many seconds, from now on."""
        self._host.go_down(seconds)
