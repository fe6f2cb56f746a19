"""Turns in Redis and in PostgreSQL, reserved by many processes."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import closing
from functools import partial
from pathlib import Path
from signal import SIGKILL
from typing import Any

import psycopg
import pytest
import redis
import redis.asyncio
from psycopg_pool import AsyncConnectionPool

from ixbackoff import (
    N0,
    N1,
    N3,
    Constant,
    Crowded,
    Interpreter,
    Program,
    Reserve,
    Z,
    at,
    call,
    do,
    is_transient,
)
from ixbackoff.durable import durable
from ixbackoff.live import (
    live,
    live_async,
    turns_in_postgresql,
    turns_in_postgresql_async,
    turns_in_redis,
    turns_in_redis_async,
)

from ..support.durable.engines import Say, until, working
from ..support.processes import Child
from ..support.servers.ports import free_port
from ..support.servers.postgresql import Server, roomy_postgresql
from ..support.servers.redis import redis_server
from ..support.servers.turns import RATE, TABLE, counting, rate_holds

__all__ = ["roomy_postgresql"]


@pytest.fixture(scope="module")
def redis_port() -> Generator[int]:
    with redis_server() as port:
        yield port


@pytest.fixture(scope="module")
def database(roomy_postgresql: Server) -> str:
    address = f"postgresql://{roomy_postgresql.address}"
    with psycopg.connect(address) as connection:
        connection.execute(TABLE)
    return address


@pytest.fixture(params=["redis", "postgresql"])
def turns(request: pytest.FixtureRequest) -> Generator[Interpreter[Reserve]]:
    if request.param == "postgresql":
        address = request.getfixturevalue("database")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("DELETE FROM ixbackoff_turns")
        yield turns_in_postgresql(partial(psycopg.connect, address))
    else:
        port = request.getfixturevalue("redis_port")
        with redis.Redis(port=port) as client:
            client.flushall()
            yield turns_in_redis(client)


def ask(turns: Interpreter[Reserve], **given: Any) -> float:
    """Reserve a turn; the seconds until then."""
    wait: float = turns._handlers[Reserve](Reserve("api", **given))
    return wait


class TestOneTurn:
    def test_turns_are_apart(self, turns: Interpreter[Reserve]) -> None:
        waits = [ask(turns, tries=0.1, line=100) for _ in range(4)]
        assert waits == pytest.approx([0, 10, 20, 30], abs=1)
        assert waits == sorted(waits)

    def test_a_burst_goes_at_once(self, turns: Interpreter[Reserve]) -> None:
        waits = [ask(turns, tries=0.1, line=100, burst=3) for _ in range(5)]
        assert waits == pytest.approx([0, 0, 0, 10, 20], abs=1)

    def test_a_refusal_reserves_nothing(self, turns: Interpreter[Reserve]) -> None:
        ask(turns, tries=0.1, line=0)
        for _ in range(3):
            with pytest.raises(Crowded, match="and it stands in line for 5 s at most") as caught:
                ask(turns, tries=0.1, line=5)
            assert caught.value.retry_after == pytest.approx(10, abs=1)
        assert ask(turns, tries=0.1, line=60) == pytest.approx(10, abs=1)

    def test_a_turn_after_the_deadline_is_not_reserved(self, turns: Interpreter[Reserve]) -> None:
        page = do(call(int)).through(Reserve("api", 0.1, line=60))
        at(N0).do(page).run(live() | turns, within=5)
        with pytest.raises(Crowded, match=r"comes in .* s, and .* s are left"):
            at(N0).do(page).run(live() | turns, within=5)
        assert ask(turns, tries=0.1, line=60) == pytest.approx(10, abs=1)

    def test_a_rest_gives_no_more_than_the_burst(self, turns: Interpreter[Reserve]) -> None:
        ask(turns, tries=100, line=1, burst=2)
        time.sleep(0.2)
        waits = [ask(turns, tries=1, line=60, burst=2) for _ in range(4)]
        assert waits == pytest.approx([0, 0, 1, 2], abs=0.2)

    def test_extreme_rates(self, turns: Interpreter[Reserve]) -> None:
        assert [ask(turns, tries=1e9, line=0) for _ in range(3)] == [0, 0, 0]
        assert [ask(turns, tries=1e-3, per=1e9, line=0, burst=9) for _ in range(9)] == [0] * 9
        with pytest.raises(Crowded) as caught:
            ask(turns, tries=1e-3, per=1e9, line=1e9, burst=9)
        assert caught.value.retry_after == pytest.approx(1e12)

    def test_names_have_turns_of_their_own(self, turns: Interpreter[Reserve]) -> None:
        ask(turns, tries=0.1, line=60)
        other = Reserve("'; DROP TABLE ixbackoff_turns --", 0.1, line=60)
        assert turns._handlers[Reserve](other) == 0


def test_redis_keeps_a_name_until_its_last_turn(redis_port: int) -> None:
    with redis.Redis(port=redis_port) as client:
        client.flushall()
        turns = turns_in_redis(client)
        for _ in range(3):
            ask(turns, tries=0.1, line=60)
        left: Any = client.pttl("ixbackoff:turns:api")
        assert 28_000 < left <= 30_000


def test_async_handlers_share_the_turns(redis_port: int, database: str) -> None:
    page = do(call(time.monotonic)).through(Reserve("async", 10, line=5))

    async def by_redis() -> list[float]:
        async with redis.asyncio.Redis(port=redis_port) as client:
            interpreter = live_async() | turns_in_redis_async(client)
            return await asyncio.gather(*[at(N0).do(page).run_async(interpreter) for _ in range(5)])

    async def by_postgresql() -> list[float]:
        async with AsyncConnectionPool(database) as pool:
            interpreter = live_async() | turns_in_postgresql_async(pool.connection)
            return await asyncio.gather(*[at(N0).do(page).run_async(interpreter) for _ in range(5)])

    for went in by_redis, by_postgresql:
        times = sorted(asyncio.run(went()))
        assert times[-1] - times[0] >= 4 / 10 - LATE


@pytest.mark.parametrize("store", ["redis", "postgresql"])
def test_a_store_that_is_away_fails_the_try_and_the_ladder_decides(store: str) -> None:
    port = free_port()
    if store == "redis":
        alone: dict[str, Any] = {"retry": None}
        turns = turns_in_redis(redis.Redis(port=port, **alone))
    else:
        turns = turns_in_postgresql(partial(psycopg.connect, f"host=127.0.0.1 port={port}"))
    asked = list[int]()
    page = do(call(asked.append, 1)).through(Reserve("api", 1, line=5))
    with pytest.raises(Exception) as caught:  # noqa: PT011
        at(N1).retry(page).run(live() | turns, schedule=Constant(0.01), within=5)
    assert is_transient(caught.value)
    assert "tries: 2" in caught.value.__notes__[0]
    assert asked == []


def test_a_missing_table_is_named(database: str) -> None:
    with closing(psycopg.connect(database, options="-c search_path=nowhere")) as connection:
        turns = turns_in_postgresql(lambda: connection)
        with pytest.raises(psycopg.errors.UndefinedTable, match="ixbackoff_turns"):
            ask(turns, tries=1, line=1)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["sync", "async"])
def test_durable_runs_that_were_in_line_reserve_their_turns_anew(
    how: str, redis_port: int, tmp_path: Path
) -> None:
    asked: list[tuple[float, int]] = []
    handlers = Say.handled_by(lambda command: asked.append((time.monotonic(), int(command.what))))

    @durable(name="page")
    def page(number: int) -> Program[N3, Z, None, Any]:
        reserve = Reserve(f"durable {how}", 20, line=60)
        return at(N3).retry(do(Say(str(number))).through(reserve))

    numbers = {f"{number}": number for number in range(30)}
    with redis.Redis(port=redis_port) as client:
        turns = turns_in_redis(client)

        async def awaited(reserve: Reserve) -> Any:
            await asyncio.sleep(0)
            return turns._handlers[Reserve](reserve)

        interpreter: Any = live() | turns | handlers
        if how == "async":
            interpreter = live_async() | Reserve.awaited_by(awaited) | handlers
        with working(tmp_path, interpreter, page) as engine:
            engine.start_many(page, numbers)
            until(lambda: len(asked) >= 5)
        with working(tmp_path, interpreter, page) as engine:
            runs = engine.start_many(page, numbers)
            assert [run.result() for run in runs] == [None] * 30
    assert sorted(number for _, number in asked) == list(range(30))
    assert rate_holds([at for at, _ in asked], 20, LATE)


PROCESSES = 10
LATE = 0.2
"""Seconds by which a try may go after its turn, on a busy machine."""


@pytest.mark.slow
@pytest.mark.parametrize("store", ["redis", "postgresql"])
def test_ten_processes_keep_the_rate_together(store: str, redis_port: int, database: str) -> None:
    address = str(redis_port) if store == "redis" else database
    program = [sys.executable, "-m", "tests.support.servers.turns", store, address]
    with counting() as service:
        words = [*program, str(service.port), str(PROCESSES)]
        with Child(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
            assert parent.stdout is not None
            children = {int(child) for child in parent.stdout.readline().split()}
            until(lambda: service.senders == children and len(service.times) >= 3 * RATE, 60)
            os.kill(min(children), SIGKILL)
            killed = len(service.times)
            until(lambda: len(service.times) >= killed + 4 * RATE, 60)
            times = [*service.times]
            parent.communicate()
    assert len(children) == PROCESSES
    assert rate_holds(times, RATE, LATE)
    last = times[-3 * RATE :]  # all have begun, and the places of the one that died are over
    assert (last[-1] - last[0]) * RATE * 0.8 <= 3 * RATE - 1
