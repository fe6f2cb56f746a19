"""A headless browser that opens pages, driven over a pipe by Chromium's own protocol."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from io import BytesIO
from pathlib import Path
from select import select
from threading import Thread
from time import monotonic
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
PATIENCE = 60.0
"""Seconds that the browser has for an answer."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on loopback, and give its URL."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class Browser:
    """One page of a headless Chromium, with what went wrong on it.

    Attributes:
        errors: exceptions, errors on the console and resources that were not found, so far.
    """

    def __init__(self, commands: int, events: int) -> None:
        self._commands, self._events = commands, events
        self._read = b""
        self._count = 0
        self._seen: list[str] = []
        self._session = ""
        self.errors: list[str] = []
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self._ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **arguments: object) -> dict[str, Any]:
        """Ask something of the page: a method of the DevTools protocol."""
        return self._ask(method, **arguments)

    def _ask(self, method: str, **arguments: object) -> dict[str, Any]:
        self._count += 1
        message = {"id": self._count, "method": method, "params": arguments}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def _next(self) -> dict[str, Any]:
        """Read one message, and note what it says of the page."""
        end = monotonic() + PATIENCE
        while b"\0" not in self._read:
            ready, _, _ = select([self._events], [], [], max(0, end - monotonic()))
            assert ready, "The browser says nothing."
            piece = os.read(self._events, 1 << 16)
            assert piece, "The browser has ended."
            self._read += piece
        said, _, self._read = self._read.partition(b"\0")
        message: dict[str, Any] = json.loads(said)
        method, told = message.get("method", ""), message.get("params", {})
        self._seen.append(method)
        if method == "Runtime.exceptionThrown":
            self.errors.append(str(told["exceptionDetails"]))
        if method == "Runtime.consoleAPICalled" and told["type"] in ("error", "assert"):
            self.errors.append(str(told["args"]))
        if method == "Log.entryAdded" and told["entry"]["level"] == "error":
            self.errors.append(f"{told['entry']['text']} {told['entry'].get('url')}")
        return message

    def open(self, url: str, *, width: int = 1280, dark: bool = False) -> None:
        """Load a page, in a window so wide."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self._seen.clear()
        self.ask("Page.navigate", url=url)
        while "Page.loadEventFired" not in self._seen:
            self._next()

    def evaluate(self, expression: str) -> Any:
        """Evaluate JavaScript on the page; a promise is awaited."""
        done = self.ask(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def color(self, x: float, y: float) -> tuple[int, int, int]:
        """Return the red, green and blue of a place on the page."""
        clip = {"x": round(x), "y": round(y), "width": 1, "height": 1, "scale": 1}
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        images: Any = import_module("matplotlib.image")
        [red, green, blue] = images.imread(BytesIO(base64.b64decode(shot["data"])))[0][0][:3]
        return round(255 * red), round(255 * green), round(255 * blue)

    def picture(self, *, height: int = 900) -> bytes:
        """Take a picture of the page, from its top, as PNG."""
        width = self.evaluate("document.documentElement.clientWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        return base64.b64decode(shot["data"])


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Start a headless Chromium with an empty profile; it ends with the block."""
    assert CHROMIUM, "There is no Chromium."
    inward, commands = os.pipe()
    events, outward = os.pipe()
    for_child = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, 10) for one in (inward, outward)]
    words = ["--headless=new", "--remote-debugging-pipe", f"--user-data-dir={profile}"]
    words += [
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--no-first-run",
        "--no-proxy-server",
        "--disable-quic",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ]
    quiet = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, quiet, one) for one in (0, 1, 2)]
    actions += [
        (os.POSIX_SPAWN_DUP2, one, place) for one, place in zip(for_child, (3, 4), strict=True)
    ]
    process = os.posix_spawn(
        CHROMIUM, [CHROMIUM, *words], os.environ, file_actions=actions, setpgroup=0
    )
    for one in (inward, outward, quiet, *for_child):
        os.close(one)
    try:
        yield Browser(commands, events)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(commands)
        os.close(events)
