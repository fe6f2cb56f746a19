"""The index of what is kept: one row a resource, in SQLite or PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from sqlalchemy import Column, MetaData, String, Table, create_engine, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from ..commands import Interpreter
from ..failures import Transient
from .commands import Copy, FindCopy, RecordCopy

COPIES = Table(
    "copies",
    MetaData(),
    Column("name", String(36), primary_key=True),
    Column("resource", String, nullable=False),
    Column("etag", String),
    Column("bucket", String, nullable=False),
    Column("key", String, nullable=False),
)
DRIVERS = {
    "sqlite": "sqlite",
    "sqlite+pysqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
BUSY_SECONDS = 1.0
# SQLite's names; PostgreSQL's classes of codes (connection, rollback, resources, held by others,
# intervention), and the driver's own error, without a code, when there was no connection.
PASSING = ("SQLITE_BUSY", "SQLITE_LOCKED", "08", "40", "53", "55", "57", "OperationalError")


class IndexUnavailable(Transient):
    """The index cannot be reached now, or somebody else holds it."""


class IndexBroken(Exception):
    """The index cannot be used: it is no database, it is read-only, or it refuses."""


class Index:
    """What is kept where, in the database that `url` names.

    >>> with Index("sqlite://") as index:
    ...     nuts = Resource("http://localhost/nuts")
    ...     index.record(RecordCopy(nuts, "v1", Copy("memory://", "key")))
    ...     index.find(FindCopy(nuts, "v1")), index.find(FindCopy(nuts, "v2"))
    (Copy(bucket='memory://', key='key'), None)

    Args:
        url: `sqlite:///file` or `postgresql+psycopg://user:password@host/database`.

    Raises:
        ValueError: the URL names no database of these kinds.
        IndexBroken: what it names cannot be used.
        IndexUnavailable: it cannot be reached now.
        ImportError: the driver is missing; the error names the extra to install.
    """

    def __init__(self, url: str) -> None:
        parsed = _parsed(url)
        self.place = parsed.database or "memory"
        if parsed.host:
            self.place = f"{parsed.host}:{parsed.port or 5432}/{self.place}"
        options = {"timeout": BUSY_SECONDS} if parsed.drivername == "sqlite" else {}
        try:
            self.engine = create_engine(parsed, connect_args=options)
        except ModuleNotFoundError:
            raise ImportError(
                "An index in PostgreSQL needs a driver: pip install 'ixbackoff[postgresql]'"
            ) from None
        self.insert = postgresql.insert if parsed.host else sqlite.insert
        try:
            with self._failures():
                COPIES.metadata.create_all(self.engine)
        except BaseException:
            self.engine.dispose()
            raise

    def find(self, command: FindCopy) -> Copy | None:
        """Where the resource with this ETag is kept, if it is."""
        wanted = select(COPIES.c.bucket, COPIES.c.key).where(
            COPIES.c.name == command.resource.name, COPIES.c.etag == command.etag
        )
        with self._failures(), self.engine.connect() as connection:
            row = connection.execute(wanted).one_or_none()
        return None if row is None else Copy(row.bucket, row.key)

    def record(self, command: RecordCopy) -> None:
        """Write where the resource is kept, in place of what stood there."""
        columns = {
            "resource": str(command.resource),
            "etag": command.etag,
            "bucket": command.copy.bucket,
            "key": command.copy.key,
        }
        row = self.insert(COPIES).values(name=command.resource.name, **columns)
        with self._failures(), self.engine.begin() as connection:
            connection.execute(row.on_conflict_do_update(index_elements=["name"], set_=columns))

    @property
    def interpreter(self) -> Interpreter[FindCopy | RecordCopy]:
        """Answers the commands that are about the index."""
        return FindCopy.handled_by(self.find) | RecordCopy.handled_by(self.record)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.dispose()

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """The library's errors as failures, without what they quote of the URL."""
        try:
            yield
        except DBAPIError as error:
            state = _state(error)
            if error.connection_invalidated or state.startswith(PASSING):
                raise IndexUnavailable(
                    f"The index {self.place} is not available: {state}"
                ) from None
            raise IndexBroken(f"The index {self.place} cannot be used: {state}.") from None


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        parsed = None
    if parsed is None or parsed.drivername not in DRIVERS:
        raise ValueError(
            "The index is named by a URL: sqlite:///file or "
            "postgresql+psycopg://user:password@host/database."
        )
    return parsed.set(drivername=DRIVERS[parsed.drivername])


def _state(error: DBAPIError) -> str:
    """What the database said, as its own short code: its sentences may quote user names."""
    cause = error.orig
    code = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None)
    return str(code or type(cause).__name__)
