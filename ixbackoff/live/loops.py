"""Answers that threads of the store library bring into an event loop, and the end of these threads.

When the interpreter ends, a thread that comes back to it is ended, too. Below Python 3.14 that
aborts the whole process if the thread is one of the store library. So nobody goes on here before
these threads have gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from threading import get_ident
from typing import Any, TypeVar, TypeVarTuple

import anyio

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

PATIENCE = 5.0  # seconds
MOMENT = 0.001  # seconds


class Answer(asyncio.Future[Any]):
    """A future that knows whether the thread that brings its result has gone."""

    def __init__(self, loop: Loop) -> None:
        super().__init__(loop=loop)
        self.home = loop
        self.settled = False

    def cancelled(self) -> bool:
        cancelled = super().cancelled()
        if cancelled and get_ident() != self.home.thread:
            self.settled = True  # since a thread of the library asks for nothing after that
        return cancelled


class Loop(asyncio.SelectorEventLoop):
    """An event loop that knows which answers are still to be brought."""

    def __init__(self) -> None:
        super().__init__()
        self.thread = 0
        self.asked: list[Answer] = []

    def run_forever(self) -> None:
        self.thread = get_ident()
        super().run_forever()

    def create_future(self) -> Answer:
        return Answer(self)

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        answer = next((one for one in args if isinstance(one, Answer)), None)
        handle = super().call_soon_threadsafe(callback, *args, context=context)
        if answer is not None:
            answer.settled = True  # last, since here a thread can still lose the interpreter
        return handle

    async def settled(self) -> None:
        """Wait until the threads that bring answers have gone."""
        with anyio.move_on_after(PATIENCE, shield=True):
            while not all(answer.settled for answer in self.asked):
                await asyncio.wait([self.create_future()], timeout=MOMENT)


async def answered(asked: Awaitable[T]) -> T:
    """Await what the store library was asked for."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, Loop) and isinstance(asked, Answer):
        loop.asked.append(asked)
    return await asked
