"""A web server that keeps connections, and answers by a script of statuses."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import NamedTuple


class Said(NamedTuple):
    """An answer.

    Attributes:
        status: its status.
        body: its body, of the header `Content-Length`, or in chunks if `chunked` is true.
        headers: further headers.
    """

    status: int = 200
    body: bytes = b"acorn"
    chunked: bool = False
    headers: tuple[tuple[str, str], ...] = ()


class Busy:
    """The server.

    Attributes:
        url: its address.
        opened: the number of connections that there were.
        open: the number of connections that there are.
        asked: the methods, paths and `Authorization` of requests.
    """

    def __init__(self, answers: Iterator[Said]) -> None:
        self.url = ""
        self.opened = self.open = 0
        self.asked: list[tuple[str, str, str]] = []
        self.arrived = Event()
        self.answers = answers
        self.lock = Lock()

    def count(self, by: int) -> None:
        with self.lock:
            self.opened += by > 0
            self.open += by


@contextmanager
def busy(*answers: Said) -> Generator[Busy]:
    """Start the server; after the script, it answers with 200."""

    def script(given: Sequence[Said]) -> Iterator[Said]:
        yield from given
        while True:
            yield Said()

    made = Busy(script(answers))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        timeout = 20.0

        def setup(self) -> None:
            super().setup()
            made.count(1)

        def finish(self) -> None:
            made.count(-1)
            super().finish()

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            with made.lock:
                made.asked.append((self.command, self.path, self.headers.get("Authorization", "")))
                said = next(made.answers)
            made.arrived.set()
            self.send_response(said.status)
            for name, value in said.headers:
                self.send_header(name, value)
            if said.chunked:
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(said.body), said.body))
            else:
                self.send_header("Content-Length", str(len(said.body)))
                self.end_headers()
                self.wfile.write(said.body)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            pass  # a client that closes in the middle of an answer

    with Server(("127.0.0.1", 0), Handler) as server:
        made.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()
