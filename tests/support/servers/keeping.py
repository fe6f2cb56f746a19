"""A web server that keeps connections, and counts them."""

from __future__ import annotations

import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread

BODY = b"acorn" * 2000
HEAD = b'HTTP/1.1 200 OK\r\nETag: "acorn"\r\nContent-Length: %d\r\n\r\n' % len(BODY)


class Keeper:
    """The server; a path says how it answers.

    - `/a`: at once.
    - `/slow`: in ten pieces, 0.05 seconds apart.
    - `/hang`: not at all.
    - `/drop`: by closing the connection.

    Attributes:
        url: where it is.
        opened: how many connections there were.
        dropped: how many requests were answered by closing the connection.
        most: how many requests there were at the same time.
        stopped: set at the end, and ends all that it does.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.opened = 0
        self.dropped = 0
        self.most = 0
        self.stopped = Event()
        self._lock = Lock()
        self._busy = 0
        self._served = 0
        self._clients: set[socket.socket] = set()

    @property
    def open(self) -> int:
        """How many connections there are."""
        with self._lock:
            return len(self._clients)

    @property
    def served(self) -> int:
        """How many answers were sent whole; clients that have theirs are counted."""
        with self._lock:  # in which the end of an answer is sent
            return self._served

    @property
    def busy(self) -> int:
        """How many requests there are."""
        with self._lock:
            return self._busy

    def close_all(self) -> None:
        """Close all connections, as a server does after a time without requests."""
        with self._lock:
            for client in self._clients:
                with suppress(OSError):
                    client.shutdown(socket.SHUT_RDWR)

    def talk(self, client: socket.socket) -> None:
        with self._lock:
            self.opened += 1
            self._clients.add(client)
        try:
            with client, suppress(OSError):
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while request := client.recv(4096):
                    self._count(1)
                    try:
                        self._answer(client, request.split(None, 2)[0], request.split(None, 2)[1])
                    finally:
                        self._count(-1)
        finally:
            with self._lock:
                self._clients.discard(client)

    def _answer(self, client: socket.socket, method: bytes, path: bytes) -> None:
        if path == b"/hang":
            self.stopped.wait(30.0)
            return
        if path == b"/drop":
            with self._lock:
                self.dropped += 1
            client.shutdown(socket.SHUT_RDWR)
            return
        count = 10 if path == b"/slow" else 1
        size = len(BODY) // count
        body = [] if method == b"HEAD" else [BODY[n * size : (n + 1) * size] for n in range(count)]
        *pieces, last = [HEAD, *body]
        for piece in pieces:
            client.sendall(piece)
            if count > 1:
                self.stopped.wait(0.05)
        with self._lock:
            client.sendall(last)
            self._served += 1

    def _count(self, by: int) -> None:
        with self._lock:
            self._busy += by
            self.most = max(self.most, self._busy)


@contextmanager
def keeping() -> Generator[Keeper]:
    """Start the server."""

    def listen() -> None:
        with suppress(OSError):
            while True:
                client = listener.accept()[0]
                talks.append(Thread(target=keeper.talk, args=(client,), daemon=True))
                talks[-1].start()

    talks: list[Thread] = []
    with socket.create_server(("127.0.0.1", 0), backlog=200) as listener:
        keeper = Keeper(f"http://127.0.0.1:{listener.getsockname()[1]}")
        listening = Thread(target=listen)
        listening.start()
        try:
            yield keeper
        finally:
            keeper.stopped.set()
            listener.shutdown(socket.SHUT_RDWR)
            listening.join()
            keeper.close_all()
    for talking in talks:
        talking.join(5.0)
