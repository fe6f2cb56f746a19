"""Ways to perform a live command, and what the tests of live commands share."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import pytest
import trio

from ixbackoff import (
    N0,
    Call,
    Download,
    Nat,
    Program,
    Schedule,
    Standard,
    Upload,
    Z,
    at,
)
from ixbackoff.live import Limits, live, live_async, response_headers, response_headers_async
from ixbackoff.schedules import powers_of_two

if TYPE_CHECKING:
    from obstore.store import ObjectStore

    from ixbackoff.live.exchanges import Progress

A = TypeVar("A")
I = TypeVar("I", bound=Nat)  # noqa: E741
Row: TypeAlias = Standard | Call[Any]

QUICK = Limits(connect_timeout=2.0, read_timeout=0.2, part_timeout=2.0)


@dataclass(frozen=True)
class Way:
    """How a command is performed: by `live`, or by `live_async` under one of its event loops."""

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
    ) -> A:
        """Run a program by the live interpreter."""
        if self.name == "sync":
            world = live(limits=limits, stores=stores, progress=progress, logger=logger)
            return program.run(world, schedule=schedule)

        async def running() -> A:
            world = live_async(limits=limits, stores=stores, progress=progress, logger=logger)
            return await program.run_async(world, schedule=schedule)

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
        """Perform a command until `when` holds, and cancel it then."""
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
    """A URL on the same server, with all that must not be shown."""
    return url.replace("http://", "http://sesame:opensaysme@") + path + "?token=hush#whisper"


SECRETS = ("sesame", "opensaysme", "token", "hush", "whisper", "c2VzYW1l")
