"""A server that gives hostile answers."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from threading import Event, Thread

from .answers import Hostile, fails

BLOCK = 64 * 1024
MOST = 256 * 2**20  # bytes of an answer that does not end by itself
GONE = 1.0  # seconds in which a client has to see the end of an answer
RESET = struct.pack("ii", 1, 0)
NOT_THERE = fails("a redirect elsewhere", b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")


class Answering:
    """Gives each request the answer whose number is its path.

    Attributes:
        answers: all of them.
        stopped: set at the end.
    """

    def __init__(self, answers: Sequence[Hostile]) -> None:
        self.answers = answers
        self.stopped = Event()

    def talk(self, client: socket.socket) -> None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        request = b""
        while b"\r\n\r\n" not in request:
            if not (got := client.recv(BLOCK)):
                return
            request += got
        path = request.split()[1]
        answer = self.answer_at(path.decode("latin-1"))
        self.say(client, answer, answer.said.replace(b"{path}", path))

    def answer_at(self, path: str) -> Hostile:
        number = path.strip("/")
        return self.answers[int(number)] if number.isdecimal() else NOT_THERE

    def say(self, client: socket.socket, answer: Hostile, said: bytes) -> None:
        if answer.slow:
            for place in range(len(said)):
                client.sendall(said[place : place + 1])
                if self.stopped.wait(answer.slow):
                    return
        client.sendall(said)
        sent = 0
        while answer.more and sent < MOST and not self.stopped.is_set():
            client.sendall(answer.more)
            sent += len(answer.more)
        if answer.end == "reset":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            return
        if answer.end == "close":
            client.settimeout(GONE)
            client.shutdown(socket.SHUT_WR)
        while client.recv(BLOCK):
            pass


@contextmanager
def listening(talk: Callable[[socket.socket], None], stopped: Event) -> Generator[int]:
    """Talk to each client in a thread of its own; give the port."""
    talks: list[Thread] = []

    def serve(client: socket.socket) -> None:
        with client, suppress(OSError):
            client.settimeout(10.0)
            talk(client)

    def listen() -> None:
        with suppress(OSError):
            while True:
                talks.append(Thread(target=serve, args=(listener.accept()[0],), daemon=True))
                talks[-1].start()

    with socket.create_server(("127.0.0.1", 0), backlog=200) as listener:
        thread = Thread(target=listen)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            stopped.set()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
    for talking in talks:
        talking.join(5.0)


@contextmanager
def answering(answers: Sequence[Hostile]) -> Generator[str]:
    """Start the server; give its URL."""
    server = Answering(answers)
    with listening(server.talk, server.stopped) as port:
        yield f"http://127.0.0.1:{port}"
