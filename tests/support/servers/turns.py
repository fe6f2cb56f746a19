"""A client of a service that many processes ask in turns, as a program of its own.

The service counts datagrams. `python -m tests.support.servers.turns STORE ADDRESS PORT PROCESSES`
parts into so many processes, which send one in each try, from four threads or from four tasks,
until its standard input is closed.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from time import monotonic

import redis
import redis.asyncio
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from ixbackoff import N3, AsyncInterpreter, Interpreter, Reserve, at, call, do
from ixbackoff.live import (
    live,
    live_async,
    turns_in_postgresql,
    turns_in_postgresql_async,
    turns_in_redis,
    turns_in_redis_async,
)

RATE = 50
AT_ONCE = 4
TABLE = "CREATE UNLOGGED TABLE ixbackoff_turns (name text PRIMARY KEY, next float8 NOT NULL)"
RESERVE = Reserve("service", RATE, line=5)


def rate_holds(times: Sequence[float], rate: float, late: float, burst: int = 1) -> bool:
    """Return whether no window has more tries than its turns, each of which may be `late`."""
    return all(
        last - first + 1 <= (times[last] - times[first] + late) * rate + burst
        for first in range(len(times))
        for last in range(first, len(times))
    )


class Counting:
    """A service that notes when a datagram arrives.

    Attributes:
        port: where it listens.
        times: when each arrived, on the clock `time.monotonic`.
        senders: the ids of the processes that have sent one.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self.port = int(listener.getsockname()[1])
        self.times: list[float] = []
        self.senders: set[int] = set()

    def count(self) -> None:
        while (sender := self._listener.recv(10)) != b"end":
            self.times.append(monotonic())
            self.senders.add(int(sender))


@contextmanager
def counting() -> Generator[Counting]:
    """Run the service."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        listener.bind(("127.0.0.1", 0))
        service = Counting(listener)
        thread = threading.Thread(target=service.count)
        thread.start()
        try:
            yield service
        finally:
            listener.sendto(b"end", listener.getsockname())
            thread.join()


def in_threads(turns: Interpreter[Reserve], ask: Callable[[], object]) -> None:
    program, interpreter = at(N3).retry(do(call(ask)).through(RESERVE)), live() | turns

    def work() -> None:
        while True:
            program.run(interpreter)

    for _ in range(AT_ONCE):
        threading.Thread(target=work, daemon=True).start()
    threading.Event().wait()


async def in_tasks(turns: AsyncInterpreter[Reserve], ask: Callable[[], object]) -> None:
    program, interpreter = at(N3).retry(do(call(ask)).through(RESERVE)), live_async() | turns

    async def work() -> None:
        while True:
            await program.run_async(interpreter)

    await asyncio.gather(*[work() for _ in range(AT_ONCE)])


async def by_redis(port: int, ask: Callable[[], object]) -> None:
    async with redis.asyncio.Redis(port=port) as client:
        await in_tasks(turns_in_redis_async(client), ask)


async def by_postgresql(address: str, ask: Callable[[], object]) -> None:
    async with AsyncConnectionPool(address) as pool:
        await in_tasks(turns_in_postgresql_async(pool.connection), ask)


def end_with_input() -> None:
    sys.stdin.read()
    os._exit(0)


def send(store: str, how: str, address: str, port: str) -> None:
    """Send in turns until standard input is closed."""
    threading.Thread(target=end_with_input, daemon=True).start()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:

        def ask() -> object:
            return sender.sendto(str(os.getpid()).encode(), ("127.0.0.1", int(port)))

        if (store, how) == ("redis", "threads"):
            in_threads(turns_in_redis(redis.Redis(port=int(address))), ask)
        elif store == "redis":
            asyncio.run(by_redis(int(address), ask))
        elif how == "threads":
            with ConnectionPool(address) as pool:
                in_threads(turns_in_postgresql(pool.connection), ask)
        else:
            asyncio.run(by_postgresql(address, ask))


def main(store: str, address: str, port: str, processes: str) -> None:
    """Begin the processes, which is quicker than to begin each anew, and say what their ids are."""
    begun = list[int]()
    for number in range(int(processes)):
        if (process := os.fork()) == 0:
            try:
                send(store, ("threads", "tasks")[number % 2], address, port)
            finally:
                os._exit(1)
        begun.append(process)
    print(*begun, flush=True)
    for process in begun:
        os.waitpid(process, 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
