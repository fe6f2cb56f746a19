"""The index of the copies: one row for each resource, in SQLite or PostgreSQL."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Self

from sqlalchemy import Column, Engine, MetaData, String, Table, create_engine, inspect, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.schema import CreateTable

from .._words.commands import Interpreter
from .._words.failures import Transient
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
SQLITE, POSTGRESQL = "sqlite", "postgresql+psycopg"
DRIVERS = {
    "sqlite": SQLITE,
    "sqlite+pysqlite": SQLITE,
    "postgresql": POSTGRESQL,
    "postgresql+psycopg": POSTGRESQL,
}
OPTIONS: dict[str, Mapping[str, str]] = {
    SQLITE: {"timeout": "1"},  # seconds for a lock; this wait is not shown
    POSTGRESQL: {"connect_timeout": "10"},
}
# The names of SQLite. The classes of codes of PostgreSQL: connection, rollback, resources, object
# in use, intervention; and its code for a table that another process is making. The last one is
# the class of an error without a code, which means that there is no connection.
PASSING = (
    *("SQLITE_BUSY", "SQLITE_LOCKED"),
    *("08", "40", "53", "55", "57", "23505"),
    "OperationalError",
)
WORDS = {
    "SQLITE_BUSY": "another program has locked it",
    "SQLITE_LOCKED": "another program has locked it",
    "SQLITE_CANTOPEN": "the file cannot be opened or made, so look at its folder",
    "SQLITE_CORRUPT": "the file is damaged",
    "SQLITE_ERROR": "its table copies has other columns, so give another file",
    "SQLITE_FULL": "the disk is full",
    "SQLITE_NOTADB": "the file is not an SQLite database, so give another one",
    "SQLITE_READONLY": "the file may only be read",
    "42501": "its user may not write to it",
    "42703": "its table copies has other columns, so give another database",
    "ProgrammingError": "its URL has a part that the driver does not know",
    "OperationalError": "no connection, so look at the host, user and password in its URL",
}


class IndexUnavailable(Transient):
    """The index cannot be reached now, or another program has locked it."""


class IndexBroken(Exception):
    """The index cannot be used: it is not a database, or it may not be written."""


class Index:
    """The places of the copies, in the database that `url` names.

    >>> from ixbackoff.squirrel.commands import Resource
    >>> with Index("sqlite://") as index:
    ...     nuts = Resource("http://localhost/nuts")
    ...     index.record(RecordCopy(nuts, "v1", Copy("memory://", "key")))
    ...     index.find(FindCopy(nuts, "v1")), index.find(FindCopy(nuts, "v2"))
    (Copy(bucket='memory://', key='key'), None)

    Args:
        url: `sqlite:///file` or `postgresql+psycopg://user:password@host/database`.

    Raises:
        ValueError: the URL does not name a database of these kinds.
        IndexBroken: the database cannot be used.
        IndexUnavailable: the database cannot be reached now.
        ImportError: the driver is missing; the error names the extra to install.
    """

    def __init__(self, url: str | URL) -> None:
        self.engine, self.place = _opened(url)
        postgres = self.engine.dialect.name == "postgresql"
        self.insert = postgresql.insert if postgres else sqlite.insert
        try:
            with self._failures(), self.engine.begin() as connection:
                if not inspect(connection).has_table(COPIES.name):
                    connection.execute(CreateTable(COPIES, if_not_exists=True))
        except BaseException:
            self.engine.dispose()
            raise

    def find(self, command: FindCopy) -> Copy | None:
        """Return where the resource is kept with this ETag, or `None`."""
        wanted = select(COPIES.c.bucket, COPIES.c.key).where(
            COPIES.c.name == command.resource.name, COPIES.c.etag == command.etag
        )
        with self._failures(), self.engine.connect() as connection:
            row = connection.execute(wanted).one_or_none()
        return None if row is None else Copy(row.bucket, row.key)

    def record(self, command: RecordCopy) -> None:
        """Write where the resource is kept, in place of its former entry."""
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
        """The handlers of the commands that are about the index."""
        return FindCopy.handled_by(self.find) | RecordCopy.handled_by(self.record)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.dispose()

    @contextmanager
    def _failures(self) -> Generator[None]:
        """Raise errors of the library as failures that quote nothing of the URL."""
        try:
            yield
        except DBAPIError as error:
            state, words = _state(error), cause_of(error)
            if error.connection_invalidated or state.startswith(PASSING):
                raise IndexUnavailable(
                    f"The index {self.place} is not available: {words}."
                ) from None
            raise IndexBroken(f"The index {self.place} cannot be used: {words}.") from None


def _opened(url: str | URL) -> tuple[Engine, str]:
    """Open a database; return its engine, and its name without secrets."""
    wrong = ValueError(
        "The index is named by a URL: sqlite:///file or "
        "postgresql+psycopg://user:password@host/database."
    )
    try:
        parsed = make_url(url)
        driver = DRIVERS.get(parsed.drivername)
        if driver is None:
            raise wrong
        place = parsed.database or driver
        if parsed.host:
            place = f"{parsed.host}:{parsed.port or 5432}/{place}"
        parsed = parsed.set(drivername=driver, query={**OPTIONS[driver], **parsed.query})
        return create_engine(parsed), place
    except ModuleNotFoundError:
        raise ImportError(
            "An index in PostgreSQL needs a driver: pip install 'ixbackoff[postgresql]'."
        ) from None
    except (ArgumentError, TypeError, ValueError):
        raise wrong from None


def cause_of(error: DBAPIError) -> str:
    """Say why a database failed, without its sentences, which may quote user names."""
    state = _state(error)
    return next((WORDS[code] for code in WORDS if state.startswith(code)), state)


def _state(error: DBAPIError) -> str:
    """Return the code of a database's error."""
    cause = error.orig
    code = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None)
    return str(code or type(error).__name__)
