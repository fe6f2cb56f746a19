"""Servers of the standard library, in a thread."""

from __future__ import annotations

import socketserver
from collections.abc import Generator
from contextlib import contextmanager
from threading import Thread
from typing import TypeVar

S = TypeVar("S", bound=socketserver.BaseServer)


@contextmanager
def in_thread(server: S) -> Generator[S]:
    """Let a server serve until the end of the block, and close it."""
    with server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
