"""Web servers of others that serve an application on loopback, in a thread."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from threading import Thread
from typing import Any

import uvicorn
import waitress  # type: ignore[import-untyped]
from hypercorn.asyncio import serve
from hypercorn.config import Config

from .ports import free_port


@contextmanager
def by_uvicorn(app: Any) -> Generator[str]:
    config = uvicorn.Config(app, port=0, log_level="critical", lifespan="off", ws="wsproto")
    server = uvicorn.Server(config)
    thread = Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def by_hypercorn(app: Any) -> Generator[str]:
    config, loop, over = Config(), asyncio.new_event_loop(), asyncio.Event()
    config.bind, config.loglevel = [f"127.0.0.1:{free_port()}"], "CRITICAL"
    trigger: Any = over.wait
    serving = serve(app, config, shutdown_trigger=trigger)
    thread = Thread(target=loop.run_until_complete, args=(serving,))
    thread.start()
    try:
        wait_until(lambda: is_open(int(config.bind[0].rpartition(":")[2])))
        yield f"http://{config.bind[0]}"
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()


@contextmanager
def by_waitress(app: Any) -> Generator[str]:
    """One thread answers all requests."""
    server = waitress.create_server(app, host="127.0.0.1", port=0, threads=1)
    thread = Thread(target=server.run)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.effective_port}"
    finally:
        server.trigger.pull_trigger(server.close)  # in its own thread: it waits for its files there
        thread.join()


def wait_until(true: Callable[[], object]) -> None:
    """Wait until a condition holds, for 20 s at most."""
    end = time.monotonic() + 20.0
    while not true():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.002)


def is_open(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
