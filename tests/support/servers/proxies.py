"""A proxy that cuts a connection at a word: before the server hears it, or before its answer."""

from __future__ import annotations

import socket
import socketserver
from contextlib import AbstractContextManager, suppress
from threading import Event, Thread
from typing import Any

from .threads import in_thread

BEFORE = "before"
AFTER = "after"


class Cutting(socketserver.ThreadingTCPServer):
    """Forwards to a server on loopback, and cuts each connection in which the word is said.

    Attributes:
        port: where it listens.
        cuts: how many connections it has cut.
    """

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, server_port: int, word: bytes, when: str) -> None:
        super().__init__(("127.0.0.1", 0), Forwarding)
        self.server_port = server_port
        self.word = word
        self.when = when
        self.cuts = 0

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of connections that the other side has reset."""


class Forwarding(socketserver.BaseRequestHandler):
    """One connection: what the client says is looked through, what the server says is not."""

    server: Cutting
    request: socket.socket

    def setup(self) -> None:
        self.hold = False
        self.answered = Event()

    def handle(self) -> None:
        if not self.server.word:
            self.server.cuts += 1
            return
        with socket.create_connection(("127.0.0.1", self.server.server_port)) as behind:
            back = Thread(target=self.bring_back, args=[behind], daemon=True)
            back.start()
            self.bring(behind)
            with suppress(OSError):
                behind.shutdown(socket.SHUT_RDWR)
            back.join()

    def bring(self, behind: socket.socket) -> None:
        while said := self.request.recv(65536):
            if self.server.word in said:
                self.server.cuts += 1
                self.hold = True
                if self.server.when == AFTER:
                    behind.sendall(said)
                    self.answered.wait(5)
                return
            behind.sendall(said)

    def bring_back(self, behind: socket.socket) -> None:
        with suppress(OSError):
            while answer := behind.recv(65536):
                if self.hold:
                    self.answered.set()
                    return
                self.request.sendall(answer)
        self.answered.set()
        with suppress(OSError):
            self.request.shutdown(socket.SHUT_RDWR)


def cutting(
    server_port: int, word: bytes = b"", when: str = AFTER
) -> AbstractContextManager[Cutting]:
    """Put a proxy before a server; without a word it cuts each connection at once."""
    return in_thread(Cutting(server_port, word, when))
