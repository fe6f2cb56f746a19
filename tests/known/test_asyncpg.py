"""Failures of asyncpg, from a real PostgreSQL server."""

from __future__ import annotations

import asyncio
import inspect
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import psycopg
import psycopg.errors
import pytest

from ixbackoff import known

from ..support.clients.tries import run_tried
from ..support.servers.postgresql import PASSWORD, Server
from ..support.servers.proxies import AFTER, cutting
from ..support.servers.rivals import (
    ADD_ONE,
    CUTS,
    TROUBLES,
    Trouble,
    counted,
    full,
    make_table,
    rival,
)


@pytest.fixture
def url(postgresql: Server) -> str:
    address = f"postgresql://{postgresql.address}"
    make_table(address)
    return address


@asynccontextmanager
async def connected(url: str) -> AsyncGenerator[asyncpg.Connection]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
def test_what_others_did_to_a_transaction_is_tried_again(url: str, trouble: Trouble) -> None:
    async def work() -> None:
        with rival(url) as plays:
            async with connected(url) as connection, connection.transaction():
                for statement in trouble.first:
                    await connection.execute(statement)
                plays(trouble)
                await connection.execute(trouble.last)

    result = run_tried(work)
    assert (result.tries, result.why) == (4, "")
    sqlstate = None if trouble.sqlstate == "57P01" else trouble.sqlstate
    assert getattr(result.failure, "sqlstate", None) == sqlstate


STAYING = {
    "SELEC": "asyncpg.PostgresSyntaxError (SQLSTATE 42601)",
    "SELECT * FROM missing": "asyncpg.UndefinedTableError (SQLSTATE 42P01)",
    "INSERT INTO nuts VALUES ('acorn', 1)": ("asyncpg.UniqueViolationError (SQLSTATE 23505)"),
}


@pytest.mark.parametrize("statement", STAYING)
def test_what_would_fail_again_is_tried_once(url: str, statement: str) -> None:
    async def work() -> None:
        async with connected(url) as connection:
            await connection.execute(statement)

    result = run_tried(work)
    assert (result.tries, result.why) == (1, STAYING[statement])


@pytest.mark.parametrize(
    ("right", "wrong", "sqlstate"),
    [
        (PASSWORD, "whisper", "28P01"),
        ("sesame", "nobody", "28P01"),
        ("/postgres", "/missing", "3D000"),
        ("/postgres", "/postgres?nonsense=whisper", "42704"),
    ],
)
def test_a_server_that_refuses_is_asked_once(
    url: str, right: str, wrong: str, sqlstate: str
) -> None:
    result = run_tried(lambda: asyncpg.connect(url.replace(right, wrong)))
    assert result.tries == 1
    assert result.why.endswith(f" (SQLSTATE {sqlstate})")
    assert "whisper" not in result.why


def test_nobody_at_the_port_and_a_server_that_stops_are_tried_again(
    url: str, postgresql: Server
) -> None:
    postgresql.stop()
    try:
        assert run_tried(lambda: asyncpg.connect(url)).tries == 4
    finally:
        postgresql.start()


def test_a_server_that_does_not_answer_is_tried_again(url: str, postgresql: Server) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        silent_url = url.replace(str(postgresql.port), str(silent.getsockname()[1]))
        assert run_tried(lambda: asyncpg.connect(silent_url, timeout=0.02)).tries == 4


def test_a_full_server_is_tried_again(url: str) -> None:
    with full(url):
        result = run_tried(lambda: asyncpg.connect(url))
    assert (result.tries, type(result.failure)) == (4, asyncpg.TooManyConnectionsError)


@pytest.mark.parametrize(("word", "when", "times", "number"), CUTS)
def test_a_connection_that_is_cut_off_is_tried_again_unless_it_was_committing(
    url: str, postgresql: Server, word: bytes, when: str, times: int, number: int
) -> None:
    with cutting(postgresql.port, word, when) as proxy:

        async def work() -> None:
            target = url.replace(str(postgresql.port), str(proxy.port))
            async with connected(target) as connection, connection.transaction():
                await connection.execute(ADD_ONE)

        result = run_tried(work)
        assert (result.tries, proxy.cuts) == (times, times)
    assert counted(url) == number


def test_a_statement_outside_of_a_transaction_is_tried_once(url: str, postgresql: Server) -> None:
    with cutting(postgresql.port, b"UPDATE", AFTER) as proxy:

        async def work() -> None:
            target = url.replace(str(postgresql.port), str(proxy.port))
            async with connected(target) as connection:
                await connection.execute(ADD_ONE)

        result = run_tried(work)
    assert (result.tries, counted(url)) == (1, 1)
    assert result.why == (
        "asyncpg.ConnectionDoesNotExistError in a statement, which may have been carried out"
    )


def test_a_closed_connection_is_tried_again_and_a_closed_pool_is_not(url: str) -> None:
    async def use_a_closed_connection() -> None:
        connection = await asyncpg.connect(url)
        await connection.close()
        await connection.execute(ADD_ONE)

    async def use_a_closed_pool() -> None:
        async with asyncpg.create_pool(url, min_size=1, max_size=1) as pool:
            pass
        await pool.execute(ADD_ONE)

    assert run_tried(use_a_closed_connection).tries == 4
    assert run_tried(use_a_closed_pool).tries == 1


def test_a_connection_that_is_busy_is_not_tried_again(url: str) -> None:
    async def work() -> None:
        async with connected(url) as connection:
            await asyncio.gather(connection.execute("SELECT 1"), connection.execute("SELECT 1"))

    result = run_tried(work)
    assert result.tries == 1
    assert result.why == "asyncpg.InterfaceError is not known to pass by itself"


def test_each_sqlstate_is_judged_as_psycopg_judges_it() -> None:
    unresolved = {"08000", "08003", "08006", "08P01", "57P01", "57P02"}
    judged = {
        kind.sqlstate: known.is_transient(kind())
        for kind in vars(psycopg.errors).values()
        if isinstance(kind, type) and issubclass(kind, psycopg.Error)
    }
    compared = 0
    kinds: list[Any] = [kind for _, kind in inspect.getmembers(asyncpg.exceptions, inspect.isclass)]
    for kind in kinds:
        sqlstate = getattr(kind, "sqlstate", None)
        if not issubclass(kind, asyncpg.PostgresError) or sqlstate not in judged:
            continue
        compared += 1
        assert known.is_transient(kind("")) == (judged[sqlstate] and sqlstate not in unresolved)
    assert compared > 200
