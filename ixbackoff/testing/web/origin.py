"""The origin: a web server on loopback that fails by a script."""

from __future__ import annotations

import socket
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from queue import SimpleQueue
from selectors import EVENT_READ, PollSelector
from threading import Event, Lock, Thread, current_thread
from typing import Self

from .fault_connection import Connection
from .faults import Fault
from .received import BodyTooLarge, ReceivedRequest, read_request
from .served_documents import Answer, Document, carried_out

LOOPBACK = "127.0.0.1"
CONNECTIONS = 64  # served concurrently; further ones are closed immediately
BODIES_SIZE = 64 * 1024 * 1024  # bytes in all recorded bodies
CLIENT_TIMEOUT = 10.0  # seconds after which a connection without any data is closed


class Origin:
    """A web server for tests: it serves resources on a loopback socket, and fails by a script.

    `GET`, `HEAD` and `POST` are answered with the resource, `PUT` replaces it by the body of the
    request, and `DELETE` removes it. A `GET` or `HEAD` whose `If-None-Match` names the ETag of the
    resource is answered with 304, and a `GET` of one range of bytes with 206. See `Connection`
    for how long a connection stays open. Each complete request is recorded for the test.

    An origin listens inside its block, on a port that the system chooses. It has its own threads,
    so the client may be sync, or run under asyncio or trio. At most 64 connections are served
    concurrently, and a request has at most 64 KiB of headers and 16 MiB of body. The end of the
    block closes its sockets and ends its threads, whatever its clients do.

    >>> from ixbackoff import N2, Constant, backoff
    >>> from ixbackoff.live import response_headers
    >>> from ixbackoff.testing.web import Origin, Reset, Status
    >>> @backoff(N2, schedule=Constant(0.01))
    ... def size(url: str) -> int:
    ...     return int(response_headers(url)["Content-Length"])
    >>> with Origin({"/a": b"acorn"}, {"/a": [Status(503), Reset()]}) as origin:
    ...     size(origin.url + "/a")
    5
    >>> [request.method for request in origin.requests]
    ['HEAD', 'HEAD', 'HEAD']

    Args:
        resources: the content of each path, or a `Document` with an ETag and headers. For a client
            that uses the origin as its proxy, give URLs in place of paths.
        faults: the script of each path, or of a method and a path such as `"PUT /a"`: the fault of
            the first request, of the second and so on, with `None` for a request without a fault.
            For an endless script give `itertools.repeat(Hang())`. A script for a method and a path
            is used before one for the path. Requests after the end of both have no faults.

    Attributes:
        resources: the resource of each path; may be changed at any time, and `PUT` and `DELETE`
            change it.
        requests: the complete requests, in the order of their ends. Once the bodies exceed 64 MiB
            in all, the oldest ones are dropped, and are empty here.
        stopped: set when the block ends.

    Raises:
        ValueError: a path does not begin with a slash, and is not a URL.
        TypeError: a script cannot be iterated over.
    """

    def __init__(
        self,
        resources: Mapping[str, bytes | Document] | None = None,
        faults: Mapping[str, Iterable[Fault | None]] | None = None,
    ) -> None:
        self.resources: dict[str, bytes | Document] = dict(resources or {})
        self.requests: list[ReceivedRequest] = []
        self._copies: deque[ReceivedRequest] = deque()
        self._bodies = 0
        self.stopped = Event()
        self._scripts: dict[str, Iterator[Fault | None]] = {}
        self._lock = Lock()
        self._clients: dict[Thread, socket.socket] = {}
        self._idle: set[socket.socket] = set()
        self._downs: SimpleQueue[tuple[float, Event]] = SimpleQueue()
        self._errors: list[BaseException] = []
        self._port = 0
        self._opened = ExitStack()
        for path in self.resources:
            check_path(path)
        for asked, script in (faults or {}).items():
            self.script(asked, script)

    def __enter__(self) -> Self:
        if self._port:
            raise RuntimeError("An Origin can be entered only once: make another one.")
        with ExitStack() as opened:
            # bound all the time, so that no other process gets the port while the origin is down
            port_holder = opened.enter_context(bound(0))
            self._port = port_holder.getsockname()[1]
            self._wake, self._woken = socket.socketpair()
            opened.enter_context(self._woken)
            opened.enter_context(self._wake)
            listener = opened.enter_context(listening(self._port))
            self._begin = time.monotonic()
            # a daemon, so that a program that never leaves the block can end
            self._thread = Thread(target=self._listen, args=(listener,), name="origin", daemon=True)
            self._thread.start()
            self._opened = opened.pop_all()
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        with self._opened:
            self.stopped.set()
            self._wake.send(b"!")
            self._thread.join()
        if error is None and self._errors:
            raise self._errors[0]

    @property
    def host(self) -> str:
        """The address at which the origin listens."""
        return LOOPBACK

    @property
    def port(self) -> int:
        """The port at which the origin listens.

        Raises:
            RuntimeError: the block has not begun.
        """
        if not self._port:
            raise RuntimeError("An Origin listens in its block: with Origin(...) as origin: ...")
        return self._port

    @property
    def url(self) -> str:
        """The URL, `http://127.0.0.1:8070` for example; RuntimeError before the block begins."""
        return f"http://{self.host}:{self.port}"

    @property
    def counts(self) -> Counter[str]:
        """The number of requests by method and path, without the query.

        >>> from urllib.request import urlopen
        >>> with Origin({"/a": b"acorn"}) as origin:
        ...     urlopen(origin.url + "/a?b=1").close()
        >>> origin.counts["GET /a"]
        1
        """
        return Counter(f"{request.method} {request.path}" for request in self.requests)

    def script(self, asked: str, faults: Iterable[Fault | None]) -> None:
        """Replace the script for a path, or for a method and a path such as `"PUT /a"`.

        >>> from urllib.request import urlopen
        >>> from ixbackoff.testing.web import Dropped
        >>> with Origin({"/a": b"acorn"}) as origin:
        ...     urlopen(origin.url + "/a").close()
        ...     origin.script("/a", [Dropped()])
        ...     urlopen(origin.url + "/a")
        Traceback (most recent call last):
        http.client.RemoteDisconnected: Remote end closed connection without response

        Raises:
            ValueError: the path does not begin with a slash, and is not a URL.
            TypeError: `faults` cannot be iterated over.
        """
        check_path(asked.rpartition(" ")[2])
        if not isinstance(faults, Iterable):
            raise TypeError(f"The script of {asked!r} is {faults!r}: give a list of faults.")
        with self._lock:
            self._scripts[asked] = iter(faults)

    def go_down(self, seconds: float) -> None:
        """Refuse new connections for `seconds`, and close open ones that are idle after an answer.

        >>> from urllib.request import urlopen
        >>> with Origin({"/a": b"acorn"}) as origin:
        ...     origin.go_down(60.0)
        ...     urlopen(origin.url + "/a")
        Traceback (most recent call last):
        urllib.error.URLError: <urlopen error [Errno 111] Connection refused>
        """
        down = Event()
        self._downs.put((seconds, down))
        with suppress(OSError):
            self._wake.send(b"!")
        while not (down.wait(0.05) or self.stopped.is_set()):
            pass

    def carry_out(self, request: ReceivedRequest) -> Answer:
        """Carry out a request, and return its usual answer."""
        with self._lock:
            return carried_out(request, self.resources)

    def _listen(self, listener: socket.socket) -> None:
        while not self.stopped.is_set():
            with listener:
                self._accept(listener)
            if not self.stopped.is_set():
                seconds, down = self._downs.get()
                self._shut_down(self._idle)
                down.set()
                if not self.stopped.wait(seconds):
                    listener = listening(self._port)
        with self._lock:
            threads = [*self._clients]
        self._shut_down(self._clients.values())
        for thread in threads:
            thread.join()

    def _shut_down(self, clients: Iterable[socket.socket]) -> None:
        with self._lock:
            for client in clients:
                with suppress(OSError):
                    client.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket) -> None:
        """Start a thread for each client that connects, until this thread is woken."""
        with PollSelector() as selector:
            selector.register(listener, EVENT_READ)
            selector.register(self._woken, EVENT_READ)
            while True:
                ready = [key.fileobj for key, _ in selector.select()]
                if self._woken in ready:
                    self._woken.recv(1)
                    return
                with suppress(OSError):  # the client has disconnected already
                    self._start(listener.accept()[0])

    def _start(self, client: socket.socket) -> None:
        with self._lock:
            if len(self._clients) == CONNECTIONS:
                client.close()
                return
            thread = Thread(target=self._serve, args=(client,), name="origin client", daemon=True)
            self._clients[thread] = client
        thread.start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client:
                client.settimeout(CLIENT_TIMEOUT)
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while self._answer(client) and self._stays(client):
                    pass
        except OSError:
            pass  # the client has disconnected, or is too slow
        except BaseException as error:
            self._errors.append(error)
        finally:
            with self._lock:
                del self._clients[current_thread()]

    def _stays(self, client: socket.socket) -> bool:
        """Wait for the next request of a client; return false if there is none."""
        with self._lock:
            if self.stopped.is_set() or not self._downs.empty():
                return False
            self._idle.add(client)
        try:
            return client.recv(1, socket.MSG_PEEK) != b""
        finally:
            with self._lock:
                self._idle.discard(client)

    def _answer(self, client: socket.socket) -> bool:
        """Answer a request; return whether the connection stays open for another request."""
        try:
            request = read_request(client)
        except ValueError:
            return False
        except BodyTooLarge:
            Connection(client, ReceivedRequest("", ""), self).send_answer(Answer(413))
            return False
        with self._lock:
            request = replace(request, at=time.monotonic() - self._begin)
            self.requests.append(self._recorded(request))
            fault = self._next_fault(request)
        connection = Connection(client, request, self, fault is None and request.keep_alive)
        if fault is None:
            connection.send_answer(connection.carry_out())
        else:
            fault.answer(connection)
        return fault is None and request.keep_alive

    def _recorded(self, request: ReceivedRequest) -> ReceivedRequest:
        """Return a copy to record; drop the oldest bodies beyond `BODIES_SIZE` in all."""
        copy = replace(request)
        if copy.body:
            self._bodies += len(copy.body)
            self._copies.append(copy)
        while self._bodies > BODIES_SIZE:
            oldest = self._copies.popleft()
            self._bodies -= len(oldest.body)
            object.__setattr__(oldest, "body", b"")
        return copy

    def _next_fault(self, request: ReceivedRequest) -> Fault | None:
        for asked in (f"{request.method} {request.path}", request.path):
            for fault in self._scripts.get(asked, ()):
                return fault
        return None


def check_path(path: str) -> None:
    """Raise ValueError unless `path` begins with a slash, or is a URL or host:port for a proxy."""
    if not path.startswith("/") and ":" not in path:
        raise ValueError(f"The path {path!r} does not begin with a slash: write {'/' + path!r}.")


def bound(port: int) -> socket.socket:
    """Make a socket with a port on loopback, which refuses connections until it listens."""
    made = socket.socket()
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((LOOPBACK, port))
    except BaseException:
        made.close()
        raise
    return made


def listening(port: int) -> socket.socket:
    made = bound(port)
    made.listen(CONNECTIONS)
    return made
