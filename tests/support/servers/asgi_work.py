"""An ASGI application that calls a function that always fails, in the ways in which services do."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from typing import Any

import anyio.to_thread

from ixbackoff import N0, N3, NotReady, backoff, time_limit
from ixbackoff.middleware import apart
from ixbackoff.schedules import Constant

often = backoff(N3, schedule=Constant(0.001), nested="once")
TRIES: list[float | None] = []
"""For each try of the function, the seconds that it had left."""
DONE = threading.Event()
"""Set when the work of a request is done, perhaps after its answer."""


@often
def fails() -> None:
    TRIES.append(time_limit())
    raise NotReady


@often
async def fails_async() -> None:
    TRIES.append(time_limit())
    raise NotReady


@backoff(N0)
async def harmless() -> None:
    """A call at N0 leaves no trace in the context."""


def quietly() -> None:
    with suppress(NotReady):
        fails()


async def quietly_async() -> None:
    with suppress(NotReady):
        await fails_async()


async def after_n0() -> None:
    await harmless()
    await quietly_async()


async def in_anyios_threads() -> None:  # as Starlette and FastAPI call plain functions
    await anyio.to_thread.run_sync(quietly)


async def to_thread() -> None:
    await asyncio.to_thread(quietly)


async def in_executor() -> None:
    with ThreadPoolExecutor(1) as pool:
        await asyncio.get_running_loop().run_in_executor(pool, quietly)


async def in_new_thread() -> None:
    thread = threading.Thread(target=quietly)
    thread.start()
    thread.join()


async def in_task() -> None:
    await asyncio.create_task(quietly_async())


async def gathered() -> None:
    await asyncio.gather(quietly_async(), quietly_async())


async def in_block() -> None:
    with suppress(NotReady):
        async for one in often:
            with one:
                TRIES.append(time_limit())
                raise NotReady


async def in_sync_block() -> None:
    def block() -> None:
        with suppress(NotReady):
            for one in often:
                with one:
                    TRIES.append(time_limit())
                    raise NotReady

    block()


async def begun_apart() -> None:
    with apart():
        work = asyncio.create_task(quietly_async())
    await work


async def queued() -> None:
    """A worker that was begun outside of any request does the work."""
    done = asyncio.get_running_loop().create_future()
    await jobs().put(done)
    await done


QUEUES: dict[Any, asyncio.Queue[Any]] = {}


def jobs() -> asyncio.Queue[Any]:
    return QUEUES[asyncio.get_running_loop()]


async def worker(queue: asyncio.Queue[Any]) -> None:
    while True:
        done = await queue.get()
        await quietly_async()
        done.set_result(None)


DURING: dict[str, Callable[[], Awaitable[None]]] = {
    made.__name__: made
    for made in (
        *(quietly_async, after_n0, in_anyios_threads, to_thread, in_executor, in_new_thread),
        *(in_task, gathered, in_block, in_sync_block, begun_apart, queued),
    )
}
LATER: set[asyncio.Task[None]] = set()
EMPTY = copy_context()  # that of no request


async def parts(path: str) -> AsyncGenerator[bytes]:
    """Yield the body; `streaming` works between two parts of it."""
    yield b"one"
    if path == "streaming":
        await quietly_async()
        DONE.set()
    yield b"two"


async def outliving(answered: asyncio.Event) -> None:
    await answered.wait()
    await quietly_async()
    DONE.set()


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "websocket":
        await session(receive, send)
        return
    if asyncio.get_running_loop() not in QUEUES:
        QUEUES[asyncio.get_running_loop()] = asyncio.Queue()
    path, answered = scope["path"].strip("/"), asyncio.Event()
    if path == "queued":
        task = asyncio.create_task(worker(jobs()), context=EMPTY.copy())
        LATER.add(task)
    if path == "outliving":
        LATER.add(asyncio.create_task(outliving(answered)))
    if path in DURING:
        await DURING[path]()
        DONE.set()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    async for part in parts(path):
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body"})
    answered.set()
    if path == "in_background":
        await quietly_async()
        DONE.set()
    if path == "in_threads_background":
        await asyncio.to_thread(quietly)
        DONE.set()


async def session(receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "websocket.accept"})
    await receive()
    await quietly_async()
    await send({"type": "websocket.send", "text": "done"})
    await receive()
    DONE.set()


def between(inner: Any) -> Any:
    """Run an application in a task of its own, as Starlette's `BaseHTTPMiddleware` does."""

    async def around(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.create_task(inner(scope, receive, send))

    return around
