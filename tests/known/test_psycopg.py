"""Failures of psycopg, from a real PostgreSQL server."""

from __future__ import annotations

import inspect
import socket
from collections.abc import Callable
from contextlib import ExitStack
from typing import LiteralString

import psycopg
import psycopg.errors
import pytest
from psycopg import AsyncConnection, Connection, connect
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from ixbackoff import known

from ..support.clients.tries import run_tried, tried
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


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
def test_what_others_did_to_a_transaction_is_tried_again(url: str, trouble: Trouble) -> None:
    def work() -> None:
        with rival(url) as plays, connect(url) as connection:
            for statement in trouble.first:
                connection.execute(statement)
            plays(trouble)
            connection.execute(trouble.last)

    result = tried(work)
    assert (result.tries, result.why) == (4, "")
    assert isinstance(result.failure, psycopg.Error)
    assert result.failure.sqlstate == trouble.sqlstate


def test_an_async_connection_is_judged_alike(url: str) -> None:
    async def work(text: LiteralString) -> None:
        async with await AsyncConnection.connect(url) as connection:
            await connection.execute(text)

    killed = run_tried(lambda: work("SELECT pg_terminate_backend(pg_backend_pid())"))
    assert killed.tries == 4
    wrong = run_tried(lambda: work("SELEC"))
    assert (wrong.tries, wrong.why) == (1, "psycopg.errors.SyntaxError (SQLSTATE 42601)")
    refused = run_tried(lambda: AsyncConnection.connect(url.replace(PASSWORD, "whisper")))
    assert refused.tries == 1


STAYING: dict[LiteralString, str] = {
    "SELEC": "psycopg.errors.SyntaxError (SQLSTATE 42601)",
    "SELECT * FROM missing": "psycopg.errors.UndefinedTable (SQLSTATE 42P01)",
    "SELECT 1 / 0": "psycopg.errors.DivisionByZero (SQLSTATE 22012)",
    "INSERT INTO nuts VALUES ('acorn', 1)": "psycopg.errors.UniqueViolation (SQLSTATE 23505)",
    "SET statement_timeout = 5; SELECT pg_sleep(9)": (
        "psycopg.errors.QueryCanceled (SQLSTATE 57014)"
    ),
}


@pytest.mark.parametrize("statement", STAYING)
def test_what_would_fail_again_is_tried_once(url: str, statement: LiteralString) -> None:
    def work() -> None:
        with connect(url) as connection:
            connection.execute(statement)

    result = tried(work)
    assert (result.tries, result.why) == (1, STAYING[statement])


@pytest.mark.parametrize(
    ("right", "wrong"), [(PASSWORD, "whisper"), ("sesame", "nobody"), ("/postgres", "/missing")]
)
def test_a_server_that_refuses_is_asked_once(url: str, right: str, wrong: str) -> None:
    result = tried(lambda: connect(url.replace(right, wrong)))
    assert result.tries == 1
    assert result.why == "psycopg.OperationalError: the server refused the connection"


@pytest.mark.parametrize(
    "end", ["?nonsense=whisper", "?connect_timeout=whisper", "?sslmode=require"]
)
def test_a_wrong_url_is_tried_once(url: str, end: str) -> None:
    result = tried(lambda: connect(url + end))
    assert result.tries == 1
    assert "whisper" not in result.why


def test_a_host_that_is_not_known_is_tried_once(url: str) -> None:
    result = tried(lambda: connect(url.replace("127.0.0.1", "nobody.invalid")))
    assert (result.tries, type(result.failure)) == (1, psycopg.OperationalError)


def test_nobody_at_the_port_is_tried_again(url: str, postgresql: Server) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        assert tried(lambda: connect(url.replace(str(postgresql.port), str(port)))).tries == 4


def test_a_server_that_does_not_answer_is_tried_again(url: str, postgresql: Server) -> None:
    with socket.socket() as silent, ExitStack() as stack:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        silent_url = url.replace(str(postgresql.port), str(silent.getsockname()[1]))
        # libpq takes no time-out below two seconds: one try is enough to see the failure
        with pytest.raises(psycopg.errors.ConnectionTimeout) as caught:
            stack.enter_context(connect(f"{silent_url}?connect_timeout=1"))
    assert known.is_transient(caught.value)


def test_a_full_server_is_tried_again(url: str) -> None:
    with full(url):
        result = tried(lambda: connect(url))
    assert result.tries == 4
    assert "too many clients" in str(result.failure)


def test_a_server_that_stops_is_tried_again(url: str, postgresql: Server) -> None:
    postgresql.stop()
    try:
        assert tried(lambda: connect(url)).tries == 4
    finally:
        postgresql.start()


@pytest.mark.parametrize(("word", "when", "times", "number"), CUTS)
def test_a_connection_that_is_cut_off_is_tried_again_unless_it_was_committing(
    url: str, postgresql: Server, word: bytes, when: str, times: int, number: int
) -> None:
    with cutting(postgresql.port, word, when) as proxy:

        def work() -> None:
            with connect(url.replace(str(postgresql.port), str(proxy.port))) as connection:
                connection.execute(ADD_ONE)

        result = tried(work)
        assert (result.tries, proxy.cuts) == (times, times)
    assert counted(url) == number
    in_a_commit = "psycopg.OperationalError in a COMMIT, which may have been carried out"
    assert result.why == (in_a_commit if times == 1 else "")


@pytest.mark.parametrize("block", [Connection.transaction, Connection.commit])
def test_a_commit_is_known_in_a_block_and_by_itself(
    url: str, postgresql: Server, block: Callable[[Connection], object]
) -> None:
    with cutting(postgresql.port, b"COMMIT", AFTER) as proxy:

        def work() -> None:
            target = url.replace(str(postgresql.port), str(proxy.port))
            with connect(target, autocommit=block is Connection.transaction) as connection:
                if block is Connection.transaction:
                    with connection.transaction():
                        connection.execute(ADD_ONE)
                else:
                    connection.execute(ADD_ONE)
                    connection.commit()

        assert tried(work).tries == 1
    assert counted(url) == 1


def test_a_pool_without_a_connection_is_tried_again_and_a_closed_one_is_not(url: str) -> None:
    with ConnectionPool(url, min_size=1, max_size=1, timeout=0.01) as pool:
        pool.wait()
        with pool.connection(timeout=5):
            result = tried(pool.getconn)
        assert (result.tries, type(result.failure)) == (4, PoolTimeout)
    result = tried(pool.getconn)
    assert (result.tries, type(result.failure)) == (1, PoolClosed)


def test_each_class_has_a_verdict_by_its_sqlstate() -> None:
    kinds = [
        kind
        for _, kind in inspect.getmembers(psycopg.errors, inspect.isclass)
        if issubclass(kind, Exception)
    ]
    passing = {
        kind.sqlstate or ""
        for kind in kinds
        if issubclass(kind, psycopg.Error) and known.is_transient(kind())
    }
    assert len(kinds) > 250
    assert passing == {
        *("08000", "08001", "08003", "08004", "08006", "08P01"),
        *("40000", "40001", "40P01"),
        *("53000", "53100", "53200", "53300", "53400"),
        *("55P03", "57P01", "57P02", "57P03", "57P05"),
    }
