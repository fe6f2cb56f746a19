"""What WebAssembly lacks and asyncio and trio need: a place to wait, for time only."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import socket
import sys
import time
from importlib import import_module
from typing import Any

EVENTS = {"EPOLLIN": 1, "EPOLLPRI": 2, "EPOLLOUT": 4, "EPOLLERR": 8, "EPOLLHUP": 16}
FIRST = 9000
LONGEST = 60.0


class Stuck(RuntimeError):
    """All tasks wait for a thread or a socket, and here are none."""


def wait(seconds: float | None) -> None:
    if seconds is None or seconds > LONGEST:
        raise Stuck("All tasks wait for a thread or a socket, and here are none.")
    if seconds > 0:
        time.sleep(seconds)


class Loop(asyncio.BaseEventLoop):
    """An event loop of asyncio without sockets."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = self

    def select(self, seconds: float | None) -> list[Any]:
        wait(seconds)
        return []

    def _process_events(self, events: list[Any]) -> None:
        assert events == []

    def _write_to_self(self) -> None:
        """Wake the loop from a thread: there are none."""


class Waker:
    """One end of a pair of sockets, by which trio wakes itself."""

    made: list[Waker] = []  # noqa: RUF012

    def __init__(self) -> None:
        self.received = b""
        self.other = self
        self.made.append(self)

    def fileno(self) -> int:
        return FIRST + self.made.index(self)

    def send(self, data: bytes) -> int:
        self.other.received += data
        return len(data)

    def recv(self, _size: int) -> bytes:
        if not self.received:
            raise BlockingIOError
        data, self.received = self.received, b""
        return data

    def ignored(self, *_: object) -> None:
        """Do nothing."""

    setblocking = setsockopt = close = ignored


def number(file: int | Waker) -> int:
    return file if isinstance(file, int) else file.fileno()


def pair(*_: object) -> tuple[Waker, Waker]:
    one, two = Waker(), Waker()
    one.other, two.other = two, one
    return one, two


class Poll:
    """An epoll that knows wakers and time."""

    def __init__(self) -> None:
        self.watched: dict[int, int] = {}

    def fileno(self) -> int:
        return FIRST - 1

    def register(self, file: int | Waker, events: int) -> None:
        self.watched[number(file)] = events

    modify = register

    def unregister(self, file: int | Waker) -> None:
        del self.watched[number(file)]

    def poll(self, seconds: float, _most: int) -> list[tuple[int, int]]:
        ready = [
            (file, 1)
            for file, events in self.watched.items()
            if events & 1 and Waker.made[file - FIRST].received
        ]
        if not ready:
            wait(seconds)
        return ready

    def close(self) -> None:
        """Do nothing."""


def install() -> None:
    """Let asyncio and trio run here."""
    for module in (asyncio, asyncio.events):
        vars(module)["new_event_loop"] = Loop
    vars(asyncio)["run"] = asyncio.runners.run  # that of Pyodide needs the browser's own loop
    asyncio._set_running_loop(None)
    vars(select).update(EVENTS, EPOLLONESHOT=1 << 30, epoll=Poll)
    vars(socket)["socketpair"] = pair
    vars(signal)["set_wakeup_fd"] = lambda *_, **__: -1
    vars(os)["pidfd_open"] = None
    platform, sys.platform = sys.platform, "linux"
    try:
        import_module("trio")  # it looks at the platform only now
    finally:
        sys.platform = platform
