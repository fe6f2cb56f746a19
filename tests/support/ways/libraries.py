"""The two event loop libraries, a real clock, and times that are long or short for a test."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest
import trio

from ixbackoff import Delay, Now

from .attempts import clean_up
from .programs import Ask

PATIENT = 60.0
SOON = 0.05


class Library(NamedTuple):
    """An event loop library: asyncio or trio."""

    run: Callable[[Callable[[], Awaitable[Any]]], Any]
    sleep: Callable[[float], Awaitable[None]]


def in_asyncio(function: Any) -> Any:
    return asyncio.run(function())


LIBRARIES = {
    "asyncio": Library(in_asyncio, asyncio.sleep),
    "trio": Library(trio.run, trio.sleep),
}
each_library = pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)
clock = Now.handled_by(lambda command: time.monotonic())


def hanging(library: Library, done: list[str]) -> Any:
    """Make an interpreter in which work hangs and cleaning up is soon done."""

    async def answer(command: Ask) -> int:
        try:
            await library.sleep(0.001 if command == clean_up else PATIENT)
            done.append(command.name)
        finally:
            done.append(f"{command.name} let go")
        return 0

    return (
        clock | Ask.awaited_by(answer) | Delay.awaited_by(lambda wait: library.sleep(wait.seconds))
    )
