"""The index of the copies: what is kept, and which keys are claimed, in SQLite or PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from math import ceil
from typing import Any, Self, TypeVar
from uuid import uuid4

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    String,
    Table,
    create_engine,
    delete,
    event,
    func,
    inspect,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.schema import CreateTable

from .._words.commands import Interpreter
from .._words.failures import Transient
from ..known.psycopg import is_refused
from .commands import Claim, Copy, Doom, Entry, Forget, Look, Swap
from .groups import Groups, Work

A = TypeVar("A")

METADATA = MetaData()
COPIES = Table(
    "copies",
    METADATA,
    Column("name", String(36), primary_key=True),
    Column("place", String, primary_key=True),
    Column("resource", String, nullable=False),
    Column("etag", String),
    Column("key", String, nullable=False),
    Column("size", BigInteger, nullable=False),
)
CLAIMS = Table(
    "claims",
    METADATA,
    Column("place", String, primary_key=True),
    Column("key", String, primary_key=True),
    Column("name", String(36), nullable=False),
    Column("doomed", Boolean, nullable=False),
)
MARKS = Table(
    "marks",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("mark", String(32), nullable=False),
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
    POSTGRESQL: {"connect_timeout": "10", "tcp_user_timeout": "10000"},
}
PRAGMAS = ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL")
MARK, FRESH = 8, 24
"""Digits of a key that tell the index and the place, and digits that are new."""
PATIENCE = 5.0
"""Seconds that PostgreSQL may wait for a lock, and twice that for a statement."""
# The names of SQLite. The classes of codes of PostgreSQL: connection, rollback, resources, object
# in use, intervention; and its code for a table that another process is making. The last one is
# the class of an error without a code, which means that there is no connection.
PASSING = (
    *("SQLITE_BUSY", "SQLITE_LOCKED"),
    *("08", "40", "53", "55", "57", "23505"),
    "OperationalError",
)
REFUSED = "28P01"
WORDS = {
    "SQLITE_BUSY": "another program has locked it",
    "SQLITE_LOCKED": "another program has locked it",
    "SQLITE_CANTOPEN": "the file cannot be opened or made, so look at its folder",
    "SQLITE_CORRUPT": "the file is damaged",
    "SQLITE_ERROR": "its table copies has other columns, so give another file",
    "SQLITE_FULL": "the disk is full",
    "SQLITE_NOTADB": "the file is not an SQLite database, so give another one",
    "SQLITE_READONLY": "the file may only be read",
    REFUSED: "it refuses the user, the password or the database in its URL",
    "42501": "its user may not write to it",
    "42703": "its table copies has other columns, so give another database",
    "55P03": "another program has locked it",
    "57014": "another program has locked it, or it is too slow",
    "ProgrammingError": "its URL has a part that the driver does not know",
    "OperationalError": "no connection, so look at the host, user and password in its URL",
}


class IndexUnavailable(Transient):
    """The index cannot be reached now, or another program has locked it."""


class IndexBroken(Exception):
    """The index cannot be used: it is not a database, or it may not be written."""


class Index:
    """The copies and the claims, in the database that `url` names.

    Threads share it: what several of them ask for at the same time is done in one transaction, and
    each is answered after the commit.

    >>> from ixbackoff.squirrel.commands import Resource
    >>> nuts = Resource("http://localhost/nuts")
    >>> with Index("sqlite://") as index:
    ...     key = index.claim(Claim(nuts, "den"))
    ...     index.swap(Swap(nuts, "den", None, Copy(key, "v1", 5)))
    ...     index.look(Look(nuts, "den")).copy == Copy(key, "v1", 5)
    True
    True

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
        self._postgres = self.engine.dialect.name == "postgresql"
        self._insert = postgresql.insert if self._postgres else sqlite.insert
        self._group: Sequence[Work[Connection, Any]] = ()
        self._groups = Groups(self._perform, self.engine.dispose, self._closed, _splits)
        if self._postgres:
            event.listen(self.engine, "do_connect", self._connects)
        else:
            event.listen(self.engine, "connect", _connected)
        event.listen(self.engine, "begin", self._begun)
        try:
            self._mark = self._do(self._made, writes=False)
        except BaseException:
            self.close()
            raise

    def look(self, command: Look) -> Entry:
        """Return what is kept of a resource, and what is claimed."""
        name, place = command.resource.name, command.place
        kept = _row(name, place)
        claimed = select(CLAIMS.c.key).where(CLAIMS.c.name == name, CLAIMS.c.place == place)

        def work(connection: Connection) -> Entry:
            row = connection.execute(kept).one_or_none()
            copy = None if row is None else Copy(row.key, row.etag, row.size)
            keys = connection.execute(claimed.order_by(CLAIMS.c.key)).scalars()
            return Entry(copy, tuple(keys), self._beginning(name, place))

        return self._do(work, writes=False, order=name)

    def claim(self, command: Claim) -> str:
        """Write a claim to a key that nobody has had, and return the key."""
        name = command.resource.name
        key = self._beginning(name, command.place) + uuid4().hex[:FRESH]
        row = {"place": command.place, "key": key, "name": name, "doomed": False}
        claimed = self._insert(CLAIMS).values(row).on_conflict_do_nothing()
        self._do(lambda connection: connection.execute(claimed), order=key)
        return key

    def swap(self, command: Swap) -> bool:
        """Let a claimed key be the one that is kept, if nobody was faster."""
        key = command.copy.key
        return self._do(lambda connection: self._swapped(connection, command), order=key)

    def doom(self, command: Doom) -> bool:
        """Doom a claim; return whether there is such a claim."""
        which = _claim(command.place, command.key)
        doomed = update(CLAIMS).where(*which).values(doomed=True).returning(CLAIMS.c.key)
        return self._do(
            lambda connection: connection.execute(doomed).scalar_one_or_none() is not None,
            order=command.key,
        )

    def forget(self, command: Forget) -> None:
        """Remove a claim."""
        gone = delete(CLAIMS).where(*_claim(command.place, command.key))
        self._do(lambda connection: connection.execute(gone), order=command.key)

    @property
    def interpreter(self) -> Interpreter[Look | Claim | Swap | Doom | Forget]:
        """The handlers of the commands that are about the index."""
        return (
            Look.handled_by(self.look)
            | Claim.handled_by(self.claim)
            | Swap.handled_by(self.swap)
            | Doom.handled_by(self.doom)
            | Forget.handled_by(self.forget)
        )

    def close(self) -> None:
        """Write what was asked for, and close the database."""
        self._groups.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _made(self, connection: Connection) -> str:
        """Make the tables that are missing; return the mark of this index."""
        there = inspect(connection).get_table_names()
        for table in METADATA.sorted_tables:
            if table.name not in there:
                connection.execute(CreateTable(table, if_not_exists=True))
        marks = select(MARKS.c.mark)
        mark = connection.execute(marks).scalar()
        if mark is None:
            row = {"number": 1, "mark": uuid4().hex}
            connection.execute(self._insert(MARKS).values(row).on_conflict_do_nothing())
            mark = connection.execute(marks).scalar_one()
        return str(mark)

    def _beginning(self, name: str, place: str) -> str:
        """Return the beginning of the keys that this index claims, so that it removes no others'.

        Another index may use the same store, and the same store may have two names.
        """
        return f"{name}/{sha256(f'{self._mark} {place}'.encode()).hexdigest()[:MARK]}"

    def _swapped(self, connection: Connection, command: Swap) -> bool:
        """Swap in one transaction; the claim is locked first, so that nobody dooms it meanwhile."""
        resource, place, expected, copy = (
            command.resource,
            command.place,
            command.expected,
            command.copy,
        )
        doomed = select(CLAIMS.c.doomed).where(*_claim(place, copy.key)).with_for_update()
        stands = connection.execute(doomed).scalar_one_or_none() is False
        row = connection.execute(_row(resource.name, place).with_for_update()).one_or_none()
        kept = None if row is None else row.key
        if kept == copy.key or kept != expected or not stands:
            return bool(kept == copy.key)
        columns = {"resource": str(resource), **copy._asdict()}
        if kept is None:
            made = self._insert(COPIES).values(name=resource.name, place=place, **columns)
            done: Any = made.on_conflict_do_nothing().returning(COPIES.c.key)
        else:
            which = (COPIES.c.name == resource.name, COPIES.c.place == place, COPIES.c.key == kept)
            done = update(COPIES).where(*which).values(columns).returning(COPIES.c.key)
        if connection.execute(done).scalar_one_or_none() is None:
            return False
        connection.execute(delete(CLAIMS).where(*_claim(place, copy.key)))
        if kept is not None:
            left = {"place": place, "key": kept, "name": resource.name, "doomed": True}
            connection.execute(self._insert(CLAIMS).values(left).on_conflict_do_nothing())
        return True

    def _do(self, work: Callable[[Connection], A], writes: bool = True, order: str = "") -> A:
        try:
            return self._groups.do(work, writes, order)
        except TimeoutError:
            raise IndexUnavailable(
                f"The index {self.place} is not available: it did not answer in time."
            ) from None

    def _perform(self, group: Sequence[Work[Connection, Any]]) -> list[Any]:
        self._group = group
        with self._failures(), self.engine.begin() as connection:
            return [work.function(connection) for work in group]

    def _begun(self, connection: Connection) -> None:
        """Begin a transaction that can neither wait for long nor be overtaken."""
        if self._postgres:
            seconds = max(0.05, min([PATIENCE, *[work.left for work in self._group]]))
            limits = {"lock_timeout": seconds, "statement_timeout": 2 * seconds}
            set_all = [
                func.set_config(name, f"{ceil(1000 * limit)}ms", True)
                for name, limit in limits.items()
            ]
            connection.execute(select(*set_all))
        else:
            writes = any(work.writes for work in self._group)
            connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    def _connects(self, _dialect: Any, _record: Any, _words: Any, given: dict[str, Any]) -> None:
        """Limit the seconds of a new connection to those that are left."""
        left = min(work.left for work in self._group)
        if str(given["connect_timeout"]).isdecimal():
            given["connect_timeout"] = max(2, min(int(given["connect_timeout"]), ceil(left)))

    def _closed(self) -> IndexUnavailable:
        return IndexUnavailable(f"The index {self.place} is not available: it was closed.")

    @contextmanager
    def _failures(self) -> Generator[None]:
        """Raise errors of the library as failures that quote nothing of the URL."""
        try:
            yield
        except DBAPIError as error:
            state, words = _state(error), cause_of(error)
            passing = error.connection_invalidated or state.startswith(PASSING)
            kind = IndexUnavailable if passing else IndexBroken
            is_not = "is not available" if passing else "cannot be used"
            failure = kind(f"The index {self.place} {is_not}: {words}.")
        else:
            return
        raise failure


def is_in_memory(url: str | URL) -> bool:
    """Return whether a database does not outlive its process.

    >>> is_in_memory("sqlite://"), is_in_memory("sqlite:///index.sqlite")
    (True, False)

    Raises:
        ArgumentError: it is not a URL.
    """
    parsed = make_url(url)
    of_sqlite = parsed.drivername.startswith("sqlite")
    return of_sqlite and parsed.database in (None, "", ":memory:")


def _row(name: str, place: str) -> Any:
    return select(COPIES.c.key, COPIES.c.etag, COPIES.c.size).where(
        COPIES.c.name == name, COPIES.c.place == place
    )


def _claim(place: str, key: str) -> tuple[Any, ...]:
    return CLAIMS.c.place == place, CLAIMS.c.key == key


def _connected(connection: Any, _record: object) -> None:
    """Keep an SQLite file so that what was committed outlives a power cut."""
    connection.isolation_level = None  # or the driver begins transactions by itself
    for pragma in PRAGMAS:
        connection.execute(pragma)


def _splits(failure: Exception) -> bool:
    """Return whether each work of a group that failed so should be tried alone."""
    return not isinstance(failure, IndexUnavailable)


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
    if isinstance(cause, Exception) and is_refused(cause):
        return REFUSED
    code = getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None)
    return str(code or type(error).__name__)
