"""A network between a client and a server on loopback, which can be cut and mended."""

from __future__ import annotations

import socket
import socketserver
import struct
from contextlib import suppress
from threading import Event, Thread
from typing import Any

RESET = struct.pack("ii", 1, 0)
"""It says that a socket resets its connection when it is closed."""


class Link(socketserver.ThreadingTCPServer):
    """Forwards to a server.

    Attributes:
        port: where it listens.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, server_port: int) -> None:
        super().__init__(("127.0.0.1", 0), Forwarding)
        self.server_port = server_port
        self.refuses = False
        self.flows = Event()
        self.flows.set()
        self.sockets: set[socket.socket] = set()
        Thread(target=self.serve_forever, args=[0.05], daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def cut(self, silently: bool) -> None:
        """Reset all connections and refuse new ones; silently, only let nothing through."""
        self.flows.clear()
        if silently:
            return
        self.refuses = True
        for one in list(self.sockets):
            with suppress(OSError):
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                one.shutdown(socket.SHUT_RDWR)
        self.flows.set()

    def mend(self) -> None:
        self.refuses = False
        self.flows.set()

    def close(self) -> None:
        self.cut(silently=False)
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of connections that the other side has reset."""


class Forwarding(socketserver.BaseRequestHandler):
    """One connection."""

    server: Link
    request: socket.socket

    def handle(self) -> None:
        if self.server.refuses:
            return
        with socket.create_connection(("127.0.0.1", self.server.server_port)) as behind:
            self.server.sockets.update([self.request, behind])
            Thread(target=self.forward, args=[behind, self.request], daemon=True).start()
            if not self.server.refuses:
                self.forward(self.request, behind)
            self.server.sockets.difference_update([self.request, behind])

    def forward(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while said := source.recv(65536):
                self.server.flows.wait()
                target.sendall(said)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)
