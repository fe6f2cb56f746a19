"""Failures of SQLAlchemy, over sqlite3, psycopg and asyncpg, from real databases."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest
import sqlalchemy
from sqlalchemy import Connection, Engine, bindparam, create_engine, select
from sqlalchemy.exc import DBAPIError, IntegrityError, StatementError
from sqlalchemy.exc import TimeoutError as PoolIsFull
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from ixbackoff import known

from ..support.clients.tries import Tried, run_tried, tried
from ..support.servers.postgresql import PASSWORD, Server
from ..support.servers.proxies import cutting
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


@contextmanager
def begun(url: str) -> Generator[Connection]:
    engine = create_engine(url)
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


@asynccontextmanager
async def begun_async(url: str) -> AsyncGenerator[AsyncConnection]:
    engine = create_async_engine(url)
    try:
        async with engine.begin() as connection:
            yield connection
    finally:
        await engine.dispose()


Around = Callable[[], AbstractContextManager[Callable[[], None]]]


def alone() -> AbstractContextManager[Callable[[], None]]:
    """Have nothing happen before the last statement."""
    return nullcontext(lambda: None)


def with_psycopg(url: str, first: list[str], around: Around, last: str) -> Tried:
    """Try a transaction in which something happens before the last statement."""
    target = url.replace("postgresql:", "postgresql+psycopg:")

    def work() -> None:
        with around() as before, begun(target) as connection:
            for statement in first:
                connection.exec_driver_sql(statement)
            before()
            connection.exec_driver_sql(last)

    return tried(work)


def with_asyncpg(url: str, first: list[str], around: Around, last: str) -> Tried:
    """The same over asyncpg."""

    async def work() -> None:
        with around() as before:
            async with begun_async(url.replace("postgresql:", "postgresql+asyncpg:")) as connection:
                for statement in first:
                    await connection.exec_driver_sql(statement)
                before()
                await connection.exec_driver_sql(last)

    return run_tried(work)


def with_psycopg_async(url: str, first: list[str], around: Around, last: str) -> Tried:
    """The same over psycopg's asynchronous connections."""

    async def work() -> None:
        with around() as before:
            async with begun_async(url.replace("postgresql:", "postgresql+psycopg:")) as connection:
                for statement in first:
                    await connection.exec_driver_sql(statement)
                before()
                await connection.exec_driver_sql(last)

    return run_tried(work)


Way = Callable[[str, list[str], Around, str], Tried]
each_driver = pytest.mark.parametrize("way", [with_psycopg, with_psycopg_async, with_asyncpg])


@each_driver
@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
def test_what_others_did_to_a_transaction_is_tried_again(
    url: str, way: Way, trouble: Trouble
) -> None:
    @contextmanager
    def around() -> Generator[Callable[[], None]]:
        with rival(url) as plays:
            yield lambda: plays(trouble)

    result = way(url, [*trouble.first], around, trouble.last)
    assert (result.tries, result.why) == (4, "")
    assert isinstance(result.failure, DBAPIError)
    assert result.failure.connection_invalidated == (trouble.sqlstate == "57P01")


@each_driver
@pytest.mark.parametrize(
    "statement", ["SELEC", "SELECT * FROM missing", "INSERT INTO nuts VALUES ('acorn', 1)"]
)
def test_what_would_fail_again_is_tried_once(url: str, way: Way, statement: str) -> None:
    result = way(url, [], alone, statement)
    assert result.tries == 1
    assert result.why.startswith(f"sqlalchemy.exc.{type(result.failure).__name__}: ")
    assert "(SQLSTATE " in result.why


@each_driver
@pytest.mark.parametrize(
    ("right", "wrong"), [(PASSWORD, "whisper"), ("sesame", "nobody"), ("/postgres", "/missing")]
)
def test_a_server_that_refuses_is_asked_once(url: str, way: Way, right: str, wrong: str) -> None:
    result = way(url.replace(right, wrong), [], alone, "SELECT 1")
    assert result.tries == 1
    assert "whisper" not in result.why


@each_driver
def test_nobody_at_the_port_is_tried_again(url: str, way: Way, postgresql: Server) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        refused = url.replace(str(postgresql.port), str(closed.getsockname()[1]))
        assert way(refused, [], alone, "SELECT 1").tries == 4


@each_driver
def test_a_full_server_is_tried_again(url: str, way: Way) -> None:
    with full(url):
        assert way(url, [], alone, "SELECT 1").tries == 4


@each_driver
@pytest.mark.parametrize(("word", "when", "times", "number"), CUTS)
def test_a_connection_that_is_cut_off_is_tried_again_unless_it_was_committing(
    url: str, postgresql: Server, way: Way, word: bytes, when: str, times: int, number: int
) -> None:
    with cutting(postgresql.port, word, when) as proxy:
        target = url.replace(str(postgresql.port), str(proxy.port))
        result = way(target, [], alone, ADD_ONE)
        assert (result.tries, proxy.cuts) == (times, times)
    assert counted(url) == number
    assert result.why.endswith(" in a COMMIT, which may have been carried out" if number else "")


@pytest.fixture
def engine(tmp_path: Path) -> Generator[Engine]:
    engine = create_engine(
        f"sqlite:///{tmp_path}/nuts.db",
        connect_args={"timeout": 0},
        max_overflow=0,
        pool_size=2,
        pool_timeout=0.01,
    )
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE nuts (name TEXT PRIMARY KEY)")
    yield engine
    engine.dispose()


def test_a_locked_sqlite_database_is_tried_again(engine: Engine) -> None:
    def work() -> None:
        with engine.begin() as connection:
            connection.exec_driver_sql("INSERT INTO nuts VALUES ('acorn')")

    with engine.connect() as holder:
        holder.exec_driver_sql("INSERT INTO nuts VALUES ('walnut')")
        assert tried(work).tries == 4
    work()
    result = tried(work)
    assert (result.tries, type(result.failure)) == (1, IntegrityError)
    assert result.why == (
        "sqlalchemy.exc.IntegrityError: sqlite3.IntegrityError is not known to pass by itself"
    )


def test_a_full_pool_is_tried_again(engine: Engine) -> None:
    with engine.connect(), engine.connect():
        result = tried(engine.connect)
    assert (result.tries, type(result.failure)) == (4, PoolIsFull)


def test_a_parameter_that_is_missing_is_tried_once_and_none_is_told(engine: Engine) -> None:
    def work() -> None:
        with engine.connect() as connection:
            connection.execute(select(bindparam("whisper")), {"other": "secret"})

    result = tried(work)
    assert (result.tries, type(result.failure)) == (1, StatementError)
    assert "secret" not in result.why


def test_a_wrong_url_is_tried_once() -> None:
    assert tried(lambda: create_engine("nonsense://whisper@nowhere")).tries == 1
    assert tried(lambda: create_engine("whisper")).tries == 1


def test_sqlalchemy_alone_does_not_pass() -> None:
    """Of the classes that need no driver, those of a full pool and a lost connection pass."""
    for module in walk_packages(sqlalchemy.__path__, "sqlalchemy."):
        if module.name.endswith(".exc"):
            import_module(module.name)
    passing = set()
    kinds = [sqlalchemy.exc.SQLAlchemyError]
    for kind in kinds:
        kinds += kind.__subclasses__()
        if not issubclass(kind, StatementError) and known.is_transient(kind.__new__(kind)):
            passing.add(kind.__name__)
    assert len(kinds) > 50
    assert passing == {"TimeoutError", "DisconnectionError", "InvalidatePoolError"}
