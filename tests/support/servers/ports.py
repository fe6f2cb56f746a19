"""Ports on loopback: free ones, and one whose server never answers."""

from __future__ import annotations

import socket
from collections.abc import Generator
from contextlib import contextmanager


def free_port(below: int = 65536) -> int:
    """Return a free port."""
    while True:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = int(free.getsockname()[1])
        if port < below:
            return port


@contextmanager
def silence() -> Generator[int]:
    """Listen at a port, and never answer."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        yield int(silent.getsockname()[1])
