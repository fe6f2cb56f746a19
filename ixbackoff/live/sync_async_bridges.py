"""Blocking work in a thread beside an event loop, and async work in an event loop in a thread.

The store library, which is written in Rust, completes its futures from threads of its own. At the
end of the process, Python below 3.14 kills each thread that is about to run Python code, and a
killed thread of Rust aborts the process. So `awaited` waits, for a few seconds at most, until those
threads have left Python: `StoreLoop` knows the futures that they still have to complete.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import wait
from contextvars import Context
from threading import get_ident
from typing import Any, TypeVar, TypeVarTuple

import anyio
import anyio.to_thread
from anyio.from_thread import start_blocking_portal

from .._running.sleeping import poll_async
from .limits import Deadline

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

PATIENCE = 5.0  # seconds that `settle` waits at most
MOMENT = 0.001  # seconds between two checks of `settle`
POLL = 0.05  # seconds between two checks of `awaited`


class StoreFuture(asyncio.Future[Any]):
    """A future that knows whether the thread that completes it has left Python."""

    def __init__(self, loop: StoreLoop) -> None:
        super().__init__(loop=loop)
        self.home = loop
        self.settled = False

    def cancelled(self) -> bool:
        cancelled = super().cancelled()
        if cancelled and get_ident() != self.home.thread:
            self.settled = True  # a thread of the library calls nothing after this check
        return cancelled


class StoreLoop(asyncio.SelectorEventLoop):
    """An event loop that knows which futures the store library still has to complete."""

    def __init__(self) -> None:
        super().__init__()
        self.thread = 0
        self.pending: list[StoreFuture] = []

    def run_forever(self) -> None:
        self.thread = get_ident()
        super().run_forever()

    def create_future(self) -> StoreFuture:
        return StoreFuture(self)

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        future = next((each for each in args if isinstance(each, StoreFuture)), None)
        handle = super().call_soon_threadsafe(callback, *args, context=context)
        if future is not None:
            future.settled = True  # set last: before this line the thread may wait for the GIL
        return handle

    async def settle(self) -> None:
        """Wait until the threads that complete the pending futures have left Python."""
        with anyio.move_on_after(PATIENCE, shield=True):
            while not all(future.settled for future in self.pending):
                await poll_async(MOMENT)


async def from_store(request: Awaitable[T]) -> T:
    loop = asyncio.get_running_loop()
    if isinstance(loop, StoreLoop) and isinstance(request, StoreFuture):
        loop.pending.append(request)
    return await request


async def in_thread(work: Callable[[], None]) -> None:
    """Do `work` in a thread, and return when it has ended, even if the caller is cancelled."""
    failures: list[Exception] = []

    def recorded() -> None:
        try:
            work()
        except Exception as error:
            failures.append(error)

    # The thread has a task of its own, because a task group always waits for its tasks. A shield of
    # anyio would not do: `Task.cancel` of asyncio ignores it.
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.to_thread.run_sync, recorded)
    for failure in failures:
        raise failure


def awaited(
    work: Callable[[], Awaitable[object]],
    deadline: Deadline,
    check: Callable[[], None],
    grace: float,
) -> None:
    """Await `work` in a new event loop; cancel the work `grace` seconds after the deadline.

    Args:
        check: called every 50 milliseconds; an exception that it raises stops the work.
        grace: the seconds that the work has to clean up, after the deadline or an exception.
    """

    loop = StoreLoop()

    async def limited() -> None:
        try:
            with deadline.scope(grace):
                await work()
        finally:
            await loop.settle()

    with start_blocking_portal("asyncio", {"loop_factory": lambda: loop}) as portal:
        future = portal.start_task_soon(limited)
        try:
            while not future.done():
                check()
                wait([future], POLL)
        except BaseException:
            deadline.end = 0.0
            wait([future], grace)
            raise
        future.result()
