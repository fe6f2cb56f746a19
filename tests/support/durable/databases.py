"""Databases of a PostgreSQL server for durable runs: their tables are made once and copied."""

from __future__ import annotations

from collections.abc import Generator
from itertools import count

import pytest
import sqlalchemy

from ixbackoff.durable import Engine
from ixbackoff.live import live

from ..servers.postgresql import Server
from .engines import both

NUMBERS = count()


class Databases:
    """Makes databases with the tables of durable runs."""

    def __init__(self, server: Server) -> None:
        self.base = server.url.rpartition("/")[0].replace("+psycopg", "")
        self.administrator = sqlalchemy.create_engine(
            server.url, isolation_level="AUTOCOMMIT", poolclass=sqlalchemy.NullPool
        )
        with Engine(live(), both, database=f"{self.base}/tables", worker=False):
            pass

    def new(self) -> str:
        """Make a database; return its URL."""
        name = f"runs{next(NUMBERS)}"
        with self.administrator.connect() as connection:
            connection.execute(sqlalchemy.text(f"create database {name} template tables"))
        return f"{self.base}/{name}"


@pytest.fixture(scope="session")
def databases(roomy_postgresql: Server) -> Generator[Databases]:
    made = Databases(roomy_postgresql)
    yield made
    made.administrator.dispose()
