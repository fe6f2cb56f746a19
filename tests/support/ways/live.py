"""Helpers of the tests of live commands, and the ways to perform one: sync, asyncio, trio."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from threading import enumerate as enumerate_threads
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import pytest
import trio

from ixbackoff import (
    N0,
    Call,
    Download,
    Nat,
    Now,
    Program,
    Schedule,
    Standard,
    Upload,
    Z,
    at,
)
from ixbackoff.live import Limits, live, live_async, response_headers, response_headers_async
from ixbackoff.schedules.kinds import powers_of_two
from ixbackoff.testing.web import Connection, Malformed

if TYPE_CHECKING:
    from obstore.store import ObjectStore

    from ixbackoff.live.exchanges import Progress

A = TypeVar("A")
I = TypeVar("I", bound=Nat)  # noqa: E741
Row: TypeAlias = Standard | Call[Any] | Now

SECONDS = 0.2
MARGIN = 0.25  # of them, 0.1 are for removing the parts of an upload
QUICK = Limits(connect_timeout=2.0, read_timeout=0.2, part_timeout=2.0)
PATIENT = Limits(connect_timeout=20.0, read_timeout=20.0, part_timeout=20.0)
IN_ALL = Limits(connect_timeout=20.0, read_timeout=20.0, part_timeout=20.0, total_timeout=SECONDS)


@dataclass(frozen=True)
class Way:
    """A way to perform a command: by `live`, or by `live_async` in one of the event loops."""

    name: str

    def run(
        self,
        program: Program[I, Z, A, Row],
        *,
        limits: Limits = QUICK,
        stores: Mapping[str, ObjectStore] | None = None,
        progress: Progress | None = None,
        logger: logging.Logger | None = None,
        schedule: Schedule = powers_of_two,
        within: float | None = None,
    ) -> A:
        """Run a program by the live interpreter."""
        if self.name == "sync":
            world = live(limits=limits, stores=stores, progress=progress, logger=logger)
            return program.run(world, schedule=schedule, within=within)

        async def running() -> A:
            world = live_async(limits=limits, stores=stores, progress=progress, logger=logger)
            return await program.run_async(world, schedule=schedule, within=within)

        return asyncio.run(running()) if self.name == "asyncio" else trio.run(running)

    def perform(
        self,
        command: Download | Upload,
        *,
        limits: Limits = QUICK,
        stores: Mapping[str, ObjectStore] | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Run one command by the live interpreter."""
        self.run(at(N0).do(command), limits=limits, stores=stores, progress=progress)

    def headers(self, url: str, *, limits: Limits = QUICK) -> Mapping[str, str]:
        if self.name == "sync":
            return response_headers(url, limits=limits)

        async def asked() -> Mapping[str, str]:
            return await response_headers_async(url, limits=limits)

        return asyncio.run(asked()) if self.name == "asyncio" else trio.run(asked)

    def cancelled(self, command: Download | Upload, when: Callable[[], bool]) -> None:
        """Perform a command, and cancel it when `when` holds."""
        program: Program[Z, Z] = at(N0).do(command)
        world = live_async(limits=Limits(read_timeout=20.0))

        async def by_asyncio() -> None:
            task = asyncio.create_task(program.run_async(world))
            while not when():
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        async def by_trio() -> None:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(program.run_async, world)
                while not when():
                    await trio.sleep(0.01)
                nursery.cancel_scope.cancel()

        if self.name == "asyncio":
            asyncio.run(by_asyncio())
        else:
            trio.run(by_trio)


SYNC, *ASYNC = (Way("sync"), Way("asyncio"), Way("trio"))
each_way = pytest.mark.parametrize("way", [SYNC, *ASYNC], ids=lambda way: way.name)
each_async_way = pytest.mark.parametrize("way", ASYNC, ids=lambda way: way.name)


def with_secrets(url: str, path: str) -> str:
    """Add secrets to a URL, in every part that must not be shown."""
    return url.replace("http://", "http://sesame:opensaysme@") + path + "?token=hush#whisper"


SECRETS = ("sesame", "opensaysme", "token", "hush", "whisper", "c2VzYW1l")


@contextmanager
def peer(*said: bytes, scheme: str = "http") -> Generator[str]:
    """Start a server that sends these pieces to every client and then nothing; give its URL.

    Clients that are still connected at the end of the block are a failure.
    """
    talks: list[Thread] = []

    def talk(client: socket.socket) -> None:
        with client, suppress(OSError):
            for piece in said:
                client.sendall(piece)
                time.sleep(0.02)
            while client.recv(2**16):
                pass

    def listen() -> None:
        with suppress(OSError):
            while True:
                talks.append(Thread(target=talk, args=(listener.accept()[0],), daemon=True))
                talks[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listening = Thread(target=listen)
        listening.start()
        try:
            yield f"{scheme}://127.0.0.1:{listener.getsockname()[1]}/a"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            listening.join()
    for talking in talks:
        talking.join(2.0)
        assert not talking.is_alive(), "a connection was left open"


@contextmanager
def full(host: str = "127.0.0.1", port: int = 0) -> Generator[str]:
    """Start a server that accepts no connections, so that opening one never ends; give its URL."""
    with ExitStack() as opened:
        listener = opened.enter_context(socket.socket())
        listener.bind((host, port))
        listener.listen(0)
        for _ in range(4):
            client = opened.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        yield f"http://{host}:{listener.getsockname()[1]}/a"


@contextmanager
def nothing_left(folder: Path) -> Generator[None]:
    """Check that a block leaves no new files, descriptors or threads."""
    before, descriptors, files = threads(), open_descriptors(), sorted(folder.iterdir())
    yield
    end = time.monotonic() + 2.0
    while threads() > before or open_descriptors() > descriptors:
        assert time.monotonic() < end, (threads(), open_descriptors(), descriptors)
        time.sleep(0.01)
    assert sorted(folder.iterdir()) == files


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def threads() -> int:
    """Count the threads that work; trio keeps idle ones for some seconds."""
    return sum(not thread.name.startswith("Trio") for thread in enumerate_threads())


@contextmanager
def taking(seconds: float) -> Generator[None]:
    """Check that the block takes these seconds, and hardly more."""
    begin = time.monotonic()
    yield
    assert seconds - 0.01 <= time.monotonic() - begin < seconds + MARGIN


def one_by_one(text: bytes) -> list[bytes]:
    return [text[place : place + 1] for place in range(len(text))]


def answered(body: bytes = b"") -> Malformed:
    """Make the answer of a store that is well."""
    head = b'HTTP/1.1 200 OK\r\nETag: "a"\r\nConnection: close\r\nContent-Length: %d\r\n\r\n'
    return Malformed(head % len(body) + body)


@dataclass(frozen=True)
class Drip:
    """A server's answer: a text, then byte by byte a header that never ends."""

    text: bytes = b"HTTP/1.1 200 OK\r\nX: "

    def answer(self, connection: Connection) -> None:
        connection.send(self.text)
        while connection.pause(0.02):
            connection.send(b"x")
