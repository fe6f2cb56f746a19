"""Hedged downloads over real connections: the loser's is closed, the winner's body is whole."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import trio

from ixbackoff import Download, read, read_async
from ixbackoff.live import live, live_async

from ..support.ways.hedges import hedged, slow_after

FETCHES = 1_000
BODY = bytes(range(256)) * 8192  # 2 MiB


class Stalling:
    """A server that answers only every second request, and notes which clients went away."""

    def __init__(self, body: bytes, every: int, stall: float | None) -> None:
        self.body, self.every, self.stall = body, every, stall
        self.asked, self.went_away = 0, 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/file"

    def listen(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.talk, args=(client,), daemon=True).start()

    def talk(self, client: socket.socket) -> None:
        with client:
            try:
                while self.received(client):
                    with self.lock:
                        self.asked += 1
                        stalls = self.asked % self.every == 1
                    if stalls and self.stall is not None:
                        time.sleep(self.stall)
                    elif stalls:
                        client.sendall(self.head() + self.body[:100])
                        self.wait_for_the_end(client)
                        return
                    client.sendall(self.head() + self.body)
            except OSError:
                return

    def head(self) -> bytes:
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(self.body)

    def received(self, client: socket.socket) -> bool:
        data = b""
        while not data.endswith(b"\r\n\r\n"):
            more = client.recv(4096)
            if not more:
                return False
            data += more
        return True

    def wait_for_the_end(self, client: socket.socket) -> None:
        with suppress(OSError):
            client.recv(1)
        with self.lock:
            self.went_away += 1


@contextmanager
def stalling(body: bytes = BODY, every: int = 2, stall: float | None = None) -> Generator[Stalling]:
    server = Stalling(body, every, stall)
    thread = threading.Thread(target=server.listen, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.listener.shutdown(socket.SHUT_RDWR)
        server.listener.close()
        thread.join()


def until(check: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not check() and time.monotonic() < end:
        time.sleep(0.002)
    assert check()


RUNS: dict[str, Callable[[Any], None]] = {
    "threads": lambda program: program.run(live()),
    "asyncio": lambda program: asyncio.run(program.run_async(live_async())),
    "trio": lambda program: trio.run(program.run_async, live_async()),
}


@pytest.mark.parametrize("way", RUNS)
def test_the_server_sees_the_loser_go_and_the_body_is_whole(way: str, tmp_path: Path) -> None:
    hedge = slow_after(0.3)
    path = tmp_path / "file"
    with stalling() as server:
        RUNS[way](hedged(hedge, Download(server.url, str(path))))
        until(lambda: server.went_away == 1)
    assert server.asked == 2
    assert path.read_bytes() == BODY
    until(lambda: sorted(tmp_path.iterdir()) == [path])
    assert "1 copy" in repr(hedge)


def sockets() -> int:
    found = 0
    for number in os.listdir("/proc/self/fd"):
        try:
            found += os.readlink(f"/proc/self/fd/{number}").startswith("socket:")
        except OSError:
            continue
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts sockets in /proc")
@pytest.mark.parametrize("way", ["threads", "asyncio"])
def test_two_hundred_hedges_leak_nothing(way: str) -> None:
    """Each sixth request stalls: a copy is sent, and then no thread, task or socket is left."""
    hedge = slow_after(0.002, extra=0.25)
    threads, open_sockets = threading.active_count(), sockets()
    with stalling(b"a small file", every=6, stall=0.02) as server:
        address = server.listener.getsockname()

        def fetch() -> bytes:
            with socket.create_connection(address) as client:
                client.sendall(b"GET / HTTP/1.1\r\n\r\n")
                return client.recv(4096)

        async def fetch_async() -> bytes:
            reader, writer = await asyncio.open_connection(*address)
            try:
                writer.write(b"GET / HTTP/1.1\r\n\r\n")
                return await reader.read(4096)
            finally:
                writer.close()

        async def run() -> None:
            program, handlers = hedged(hedge, read_async(fetch_async)), live_async()
            for _ in range(FETCHES):
                assert b"200 OK" in await program.run_async(handlers)
            assert len(asyncio.all_tasks()) == 1

        if way == "threads":
            program, handlers = hedged(hedge, read(fetch)), live()
            for _ in range(FETCHES):
                assert b"200 OK" in program.run(handlers)
        else:
            asyncio.run(run())
    gc.collect()
    until(lambda: threading.active_count() <= threads and sockets() <= open_sockets)
    assert int(repr(hedge).split(", ")[1].split()[0]) > 100
