"""A web server on loopback that fails as real ones do, by a script: for the demo and the tests."""

from __future__ import annotations

import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import formatdate
from hashlib import sha256
from http.client import responses
from queue import SimpleQueue
from select import select
from types import TracebackType
from typing import Self

from .faults import Fault, Status

LOOPBACK = "127.0.0.1"
CONNECTIONS = 64  # at once; one more is closed at once
REQUEST_SIZE = 64 * 1024  # bytes of a request's headers
CLIENT_TIMEOUT = 10.0  # seconds in which a client has to send or take something
RESET = struct.pack("ii", 1, 0)  # SO_LINGER on, for 0 seconds: closing sends a reset


@dataclass(frozen=True)
class Resource:
    """What stands at a path.

    Attributes:
        content: its bytes.
        etag: the header `ETag` as it stands; without one it is made of the content, and `None`
            leaves the header out.
    """

    content: bytes
    etag: str | None = ""

    def headers(self) -> dict[str, str]:
        length = {"Content-Length": str(len(self.content))}
        if self.etag is None:
            return length
        return length | {"ETag": self.etag or f'"{sha256(self.content).hexdigest()[:16]}"'}


NOTHING = Resource(b"")


@dataclass(frozen=True)
class Request:
    """What a client asked.

    Attributes:
        method: such as `GET`.
        target: the path, with the query.
        headers: by their names in lower case.
    """

    method: str
    target: str
    headers: Mapping[str, str]

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]


class Connection:
    """One client and its one request; what a fault answers through.

    Attributes:
        request: what it asks.
        resource: what stands there.
        content: what is to be sent of it: nothing, if it asks for headers only.
    """

    request: Request
    resource: Resource

    def __init__(self, origin: Origin, client: socket.socket) -> None:
        self.origin = origin
        self.client = client
        client.settimeout(CLIENT_TIMEOUT)

    def serve(self) -> None:
        with suppress(OSError, ValueError):  # a client that has gone, or that speaks no HTTP
            self.request = received(self.client)
            fault, self.resource = self.origin.asked(self.request)
            if fault is not None:
                fault.answer(self)
            else:
                self.send_part(None)

    @property
    def content(self) -> bytes:
        return self.resource.content if self.request.method == "GET" else b""

    def send(self, data: bytes) -> None:
        self.client.sendall(data)

    def send_head(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the status line and the headers."""
        all_headers = {"Date": formatdate(usegmt=True), "Connection": "close", **headers}
        lines = [f"HTTP/1.1 {status} {responses.get(status, '')}"]
        lines += [f"{name}: {value}" for name, value in all_headers.items()]
        self.send("".join(f"{line}\r\n" for line in [*lines, ""]).encode("latin-1"))

    def send_part(self, size: int | None) -> None:
        """Send the resource's headers, and so many bytes of its content; all of it for `None`."""
        self.send_head(200, self.resource.headers())
        self.send(self.content[:size])

    def wait_for_end(self) -> None:
        """Wait until the client goes away, or the origin ends."""
        self.client.settimeout(None)
        while self.client.recv(4096):
            pass

    def reset(self) -> None:
        self.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

    def end(self) -> None:
        """Wake whoever waits for the client."""
        with suppress(OSError):
            self.client.shutdown(socket.SHUT_RDWR)


class Origin:
    """A web server on loopback, with the resources and the faults that it is given.

    It answers `HEAD` and `GET`, and other methods by their faults only; one request a connection.
    When its block ends, its sockets are closed and its threads have ended.

        with Origin({"/a": b"acorn"}, {("GET", "/a"): [Status(503), Reset(2)]}) as origin:
            ...  # the third GET of origin.url + "/a" succeeds

    Args:
        resources: what stands at a path; bytes have an ETag made of them.
        faults: for a method and a path, what happens to the first request, the second and so on;
            `None`, and the end of the script, is a request that is answered well. An endless one,
            such as `itertools.repeat(Hang())`, never is.

    Attributes:
        resources: from a path to its resource; may be changed at any time.
        requests: all that was asked, in order.
        url: where it listens, such as `http://127.0.0.1:8070`.
    """

    def __init__(
        self,
        resources: Mapping[str, bytes | Resource],
        faults: Mapping[tuple[str, str], Iterable[Fault | None]] | None = None,
    ) -> None:
        self.resources: dict[str, bytes | Resource] = dict(resources)
        self.requests: list[Request] = []
        self.stopped = threading.Event()
        self._scripts = {asked: iter(script) for asked, script in (faults or {}).items()}
        self._lock = threading.Lock()
        self._connections: dict[threading.Thread, Connection] = {}
        self._downs: SimpleQueue[tuple[float, threading.Event]] = SimpleQueue()
        self.url = ""

    def __enter__(self) -> Self:
        # Bound all the time, so that nobody else gets the port while the origin is down.
        self._place = bound(0)
        self._port: int = self._place.getsockname()[1]
        self._wake, self._woken = socket.socketpair()
        self.url = f"http://{LOOPBACK}:{self._port}"
        self._listener = listening(self._port)
        self._thread = threading.Thread(target=self._listen, name="origin")
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stopped.set()
        self._wake.close()
        self._thread.join()
        self._place.close()

    @property
    def counts(self) -> Counter[tuple[str, str]]:
        """How often each path was asked for, by method and path."""
        return Counter((request.method, request.path) for request in self.requests)

    def script(self, method: str, path: str, faults: Iterable[Fault | None]) -> None:
        """What happens to the next requests for a path, instead of what was to happen."""
        with self._lock:
            self._scripts[method, path] = iter(faults)

    def go_down(self, seconds: float) -> None:
        """Refuse new connections for so many seconds, from now on."""
        down = threading.Event()
        self._downs.put((seconds, down))
        with suppress(OSError):
            self._wake.send(b"!")
        while not (down.wait(0.05) or self.stopped.is_set()):
            pass

    def asked(self, request: Request) -> tuple[Fault | None, Resource]:
        """How a request is to be answered: by a fault, or by the resource."""
        with self._lock:
            self.requests.append(request)
            fault = next(self._scripts.get((request.method, request.path), iter(())), None)
            resource = self.resources.get(request.path)
        if request.method not in ("GET", "HEAD"):
            return fault or Status(405), NOTHING
        if resource is None:
            return fault or Status(404), NOTHING
        return fault, Resource(resource) if isinstance(resource, bytes) else resource

    def _listen(self) -> None:
        listener = self._listener
        try:
            while not self.stopped.is_set():
                ready, _, _ = select((listener, self._woken), (), ())
                if self._woken in ready:
                    if self._woken.recv(1):
                        seconds, down = self._downs.get()
                        listener.close()
                        down.set()
                        self.stopped.wait(seconds)
                        listener = listening(self._port)
                else:
                    client, _ = listener.accept()
                    self._begin(client)
        finally:
            listener.close()
            self._woken.close()
            self._end_connections()

    def _begin(self, client: socket.socket) -> None:
        connection = Connection(self, client)
        with self._lock:
            if len(self._connections) == CONNECTIONS:
                client.close()
                return
            thread = threading.Thread(target=self._serve, args=(connection,), name="origin client")
            self._connections[thread] = connection
        thread.start()

    def _serve(self, connection: Connection) -> None:
        try:
            with connection.client:
                connection.serve()
        finally:
            with self._lock:
                del self._connections[threading.current_thread()]

    def _end_connections(self) -> None:
        with self._lock:
            connections = dict(self._connections)
        for connection in connections.values():
            connection.end()
        for thread in connections:
            thread.join()


def received(client: socket.socket) -> Request:
    """What a client asks.

    Raises:
        ValueError: it is no HTTP.
    """
    read = b""
    while b"\r\n\r\n" not in read:
        chunk = client.recv(4096)
        read += chunk
        if not read[:1].isalpha() or not chunk or len(read) > REQUEST_SIZE:
            raise ValueError("This is no request.")
    head, _, body = read.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    parts = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in parts}
    # A body is taken in and dropped: closing on what is unread would reset the connection.
    rest = int(headers.get("content-length", 0)) - len(body)
    while rest > 0 and (chunk := client.recv(min(rest, REQUEST_SIZE))):
        rest -= len(chunk)
    return Request(method, target, headers)


def bound(port: int) -> socket.socket:
    """A socket that has a port on loopback, and refuses connections until it listens."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((LOOPBACK, port))
    return made


def listening(port: int) -> socket.socket:
    made = bound(port)
    made.listen(CONNECTIONS)
    return made
