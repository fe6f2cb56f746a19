"""Failures of MySQL's drivers, with a real MariaDB of the system."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from threading import Thread
from typing import Any

import aiomysql
import mysql.connector
import MySQLdb
import pymysql
import pytest
import sqlalchemy

from ...support.clients.tries import Tried, run_tried, tried
from ...support.servers.ports import free_port
from .servers import mariadb

Connect = Callable[..., Any]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with mariadb() as started:
        yield started


@pytest.fixture
def root(port: int) -> Iterator[Any]:
    """A connection of another client, which may do everything."""
    with closing(pymysql.connect(host="127.0.0.1", port=port, user="root", db="nuts")) as client:
        yield client


def connected(driver: Connect, **more: Any) -> Connect:
    def connect(port: int, **other: Any) -> Any:
        usual = {"host": "127.0.0.1", "user": "acorn", "password": "sesame", "database": "nuts"}
        return driver(**usual | more | {"port": port} | other)

    return connect


DRIVERS = {
    "pymysql": connected(pymysql.connect),
    "mysqlclient": connected(MySQLdb.connect),
    "mysql.connector": connected(mysql.connector.connect, use_pure=True),
}
each_driver = pytest.mark.parametrize("connect", DRIVERS.values(), ids=DRIVERS)


def run(connect: Connect, port: int, statement: str) -> None:
    with closing(connect(port)) as client, closing(client.cursor()) as cursor:
        cursor.execute(statement)
        cursor.fetchall()
        client.commit()


def failing(connect: Connect, port: int, statement: str) -> Tried:
    return tried(lambda: run(connect, port, statement))


def raised(number: int) -> str:
    return f"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {number}, MESSAGE_TEXT = 'no'"


@each_driver
def test_no_server(connect: Connect) -> None:
    assert tried(lambda: connect(free_port())).tries == 4


@each_driver
def test_an_unknown_host_or_a_wrong_password(connect: Connect, port: int) -> None:
    assert tried(lambda: connect(port, host="nuts.invalid")).tries == 1
    wrong = tried(lambda: connect(port, password="hush"))  # noqa: S106
    assert wrong.tries == 1
    assert wrong.why.endswith("Error 1045")


@each_driver
def test_an_error_of_the_statement(connect: Connect, port: int) -> None:
    ended = failing(connect, port, "SELECT * FROM missing")
    assert ended.tries == 1
    assert ended.why.endswith("Error 1146")


@each_driver
def test_a_lock_of_another_client(connect: Connect, port: int, root: Any) -> None:
    root.cursor().execute("SELECT * FROM hoard FOR UPDATE")
    assert failing(connect, port, "SELECT * FROM hoard FOR UPDATE NOWAIT").tries == 4


@each_driver
def test_a_deadlock(connect: Connect, port: int) -> None:
    assert failing(connect, port, raised(1213)).tries == 4


@each_driver
def test_too_many_connections(connect: Connect, port: int, root: Any) -> None:
    root.cursor().execute("SET GLOBAL max_connections = 10")
    clients: list[Any] = []
    with suppress(Exception):
        for _ in range(20):
            clients.append(connect(port))  # noqa: PERF401
    try:
        assert tried(lambda: connect(port)).tries == 4
    finally:
        for client in clients:
            client.close()
        root.cursor().execute("SET GLOBAL max_connections = 100")


def lost(connect: Connect, port: int, root: Any, then: Callable[[Any, Any], object]) -> None:
    """Have the server end a connection in the middle of a transaction, and go on."""
    client = connect(port)
    with closing(client.cursor()) as cursor:
        cursor.execute("UPDATE hoard SET n = n + 1")
        cursor.execute("SELECT CONNECTION_ID()")
        [[number]] = cursor.fetchall()
        killer = Thread(target=lambda: root.cursor().execute(f"KILL {number}"))
        killer.start()
        killer.join()
        then(client, cursor)


@each_driver
def test_a_connection_that_is_lost_in_a_transaction(connect: Connect, port: int, root: Any) -> None:
    def go_on(_: Any, cursor: Any) -> None:
        cursor.execute("SELECT SLEEP(1)")

    assert tried(lambda: lost(connect, port, root, go_on)).tries == 4


@each_driver
def test_a_connection_that_is_lost_in_a_commit(connect: Connect, port: int, root: Any) -> None:
    ended = tried(lambda: lost(connect, port, root, lambda client, _: client.commit()))
    assert ended.tries == 1
    assert ended.why.endswith(" in a COMMIT, which may have been carried out")


def test_sqlalchemy_over_pymysql(port: int) -> None:
    engine = sqlalchemy.create_engine(
        f"mysql+pymysql://acorn:sesame@127.0.0.1:{port}/nuts", poolclass=sqlalchemy.NullPool
    )

    def ask(statement: str) -> None:
        with engine.begin() as connection:
            connection.execute(sqlalchemy.text(statement))

    assert tried(lambda: ask(raised(1205))).tries == 4
    assert tried(lambda: ask("SELECT * FROM missing")).tries == 1


def test_aiomysql(port: int) -> None:
    async def ask(statement: str, at: int) -> None:
        client = await aiomysql.connect(
            host="127.0.0.1",
            port=at,
            user="acorn",
            password="sesame",  # noqa: S106
            db="nuts",
        )
        async with client, client.cursor() as cursor:
            await cursor.execute(statement)

    assert run_tried(lambda: ask("SELECT 1", free_port())).tries == 4
    assert run_tried(lambda: ask(raised(1213), port)).tries == 4
    assert run_tried(lambda: ask("SELECT * FROM missing", port)).tries == 1
    asyncio.run(ask("SELECT 1", port))
