"""Clients and pools of a transport: none outlives it, and they may be closed at any moment."""

from __future__ import annotations

import gc
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from ixbackoff import N0, Attempt, Download, all_of, at
from ixbackoff.live import Connections, Limits, live, live_async, response_headers
from ixbackoff.live.deadline_sockets import used
from ixbackoff.live.limits import Deadline
from ixbackoff.live.pooled_transports import AsyncTransport
from ixbackoff.live.pools import AsyncPool, Pool
from ixbackoff.testing.web import Origin

from ..support.servers.keeping import keeping


def test_what_nobody_uses_any_more_does_not_wait_for_the_collector() -> None:
    with Origin({"/a": b"acorn"}) as origin:
        gc.disable()
        try:
            connections = Connections()
            response_headers(f"{origin.url}/a", connections=connections)
            opened = weakref.ref(connections.opened())
            del connections
            assert opened() is None
        finally:
            gc.enable()


def test_an_exchange_may_go_another_way_while_they_are_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    close = Pool.close

    def redirected(pool: Pool) -> None:
        with suppress(httpx2.ConnectError):
            client.get(origin.url.replace("http:", "https:"))
        close(pool)

    with (
        Origin({"/a": b"acorn"}) as origin,
        Connections() as connections,
        httpx2.Client(transport=connections.opened()) as client,
        used(Deadline(Limits())),
        monkeypatch.context() as patch,
    ):
        client.get(f"{origin.url}/a")
        patch.setattr(Pool, "close", redirected)
        connections.close()


def test_so_it_may_under_an_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    close = AsyncPool.aclose

    async def work(url: str) -> None:
        transport = AsyncTransport(Limits())
        client = httpx2.AsyncClient(transport=transport)

        async def redirected(pool: AsyncPool) -> None:
            with suppress(httpx2.ConnectError):
                await client.get(url.replace("http:", "https:"))
            await close(pool)

        await client.get(url)
        with monkeypatch.context() as patch:
            patch.setattr(AsyncPool, "aclose", redirected)
            await transport.aclose()

    with Origin({"/a": b"acorn"}) as origin:
        anyio.run(work, f"{origin.url}/a")


def test_an_exchange_that_ends_after_its_pool_was_closed_leaves_no_connection() -> None:
    with (
        Origin({"/a": b"acorn"}) as origin,
        Connections() as connections,
        httpx2.Client(transport=connections.opened()) as client,
        used(Deadline(Limits())),
    ):
        client.get(f"{origin.url}/a")
        (pool,) = pools_of(connections.opened())
        assert len(pool.connections) == 1
        pool.close()
        client.get(f"{origin.url}/a")
        assert pool.connections == []


def test_nor_does_one_under_an_event_loop() -> None:
    async def work(url: str) -> None:
        async with AsyncTransport(Limits()) as transport:
            client = httpx2.AsyncClient(transport=transport)
            await client.get(url)
            (pool,) = pools_of(transport)
            assert len(pool.connections) == 1
            await pool.aclose()
            await client.get(url)
            assert pool.connections == []

    with Origin({"/a": b"acorn"}) as origin:
        anyio.run(work, f"{origin.url}/a")


def pools_of(transport: Any) -> list[Any]:
    return [*transport._pools.values()]


def downloads(url: str, folder: Path) -> Attempt[Download, list[None]]:
    """Downloads that each open a connection of their own."""
    return all_of([Download(f"{url}/slow", str(folder / f"{number}")) for number in range(8)])


def test_a_server_that_drops_requests_gets_one_more_whatever_the_number_of_connections(
    tmp_path: Path,
) -> None:
    with keeping() as server, Connections() as connections:
        world = live(connections=connections)
        at(N0).do(downloads(server.url, tmp_path)).run(world)
        with pytest.raises(ConnectionError):
            at(N0).do(Download(f"{server.url}/drop", str(tmp_path / "a"))).run(world)
        assert (server.served, server.opened, server.dropped) == (8, 9, 2)


def test_so_it_does_from_the_tasks_of_an_event_loop(tmp_path: Path) -> None:
    async def work() -> None:
        async with Connections() as connections:
            world = live_async(connections=connections)
            await at(N0).do(downloads(server.url, tmp_path)).run_async(world)
            with pytest.raises(ConnectionError):
                await (
                    at(N0).do(Download(f"{server.url}/drop", str(tmp_path / "a"))).run_async(world)
                )

    with keeping() as server:
        anyio.run(work)
        assert (server.served, server.opened, server.dropped) == (8, 9, 2)
