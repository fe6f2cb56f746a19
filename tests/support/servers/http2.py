"""A web server of its own standing that speaks HTTP/2 over TLS, in a thread."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Generator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any, TypeAlias

from hypercorn.asyncio import serve
from hypercorn.config import Config

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
PIECE = 64 * 1024


@dataclass
class Nuts:
    """An application that serves one body under every path.

    Attributes:
        body: the body.
        pause: seconds before each piece of the body, by path.
        asked: the version of HTTP, the client's port, and the path of each request.
        headers: the headers of the last request.
    """

    body: bytes
    pause: dict[str, float] = field(default_factory=dict[str, float])
    asked: list[tuple[str, int, str]] = field(default_factory=list[tuple[str, int, str]])
    headers: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])

    async def __call__(
        self,
        scope: Scope,
        _receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        if scope["type"] == "lifespan":
            return
        self.asked.append((scope["http_version"], scope["client"][1], scope["path"]))
        self.headers = dict(scope["headers"])
        headers = [(b"content-length", b"%d" % len(self.body)), (b"etag", b'"nuts"')]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for start in range(0, len(self.body), PIECE):
            await asyncio.sleep(self.pause.get(scope["path"], 0.0))
            piece = self.body[start : start + PIECE]
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    @property
    def connections(self) -> set[int]:
        return {port for _, port, _ in self.asked}

    @property
    def versions(self) -> set[str]:
        return {version for version, _, _ in self.asked}


@contextmanager
def speaking_http2(app: Nuts, certificate: Path) -> Generator[str]:
    """Serve an application in this block; give its URL."""
    config = Config()
    config.certfile = config.keyfile = str(certificate)
    config.loglevel = "CRITICAL"
    config.graceful_timeout = config.shutdown_timeout = 0.1
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        config.bind = [f"fd://{listener.fileno()}"]
        loop = asyncio.new_event_loop()
        stopped = asyncio.Event()
        listener.detach()

        def run() -> None:
            asyncio.set_event_loop(loop)
            application: Any = app
            loop.run_until_complete(serve(application, config, shutdown_trigger=stopped.wait))
            loop.close()

        thread = Thread(target=run)
        thread.start()
        try:
            yield f"https://127.0.0.1:{port}"
        finally:
            loop.call_soon_threadsafe(stopped.set)
            thread.join(10.0)
            assert not thread.is_alive()
