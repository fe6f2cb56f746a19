"""S3 servers on loopback: moto, in this process or in one of its own.

The settings of the whole suite import this module, and some Pythons have neither moto nor httpx2.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from ..processes import Child
from .ports import free_port

SERVER = "import sys; from moto.server import main; main(sys.argv[1:])"


@pytest.fixture(scope="session")
def moto() -> Generator[str]:
    """The URL of a server in this process; tests name their buckets apart."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@contextmanager
def s3_server() -> Generator[str]:
    """Start a server in a process of its own; give its URL."""
    import httpx2

    port = free_port()
    url = f"http://127.0.0.1:{port}"
    words = [sys.executable, "-c", SERVER, "-H", "127.0.0.1", "-p", f"{port}"]
    with Child(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ)
    ) as process:
        try:
            while True:
                try:
                    httpx2.get(url)
                    break
                except httpx2.TransportError:
                    assert process.poll() is None, "the server did not start"
                    time.sleep(0.05)
            yield url
        finally:
            process.terminate()
