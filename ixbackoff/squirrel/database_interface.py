"""The interface of databases for the index, and the reasons for their failures."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, TypeAlias, TypeVar

from ..known.psycopg import is_refused

F = TypeVar("F", bound=Exception)

Execute: TypeAlias = Callable[[str, Mapping[str, object]], Sequence[Any]]
"""A function that executes a statement with values for its `:name`s, and returns the rows."""

TRANSIENT = (
    *("SQLITE_BUSY", "SQLITE_LOCKED"),  # error names of SQLite
    # classes of SQLSTATE: connection, rollback, resources, object in use, operator intervention
    *("08", "40", "53", "55", "57"),
    "23505",  # unique violation: another process is making the same table
    # classes of errors without a code: no connection
    *("OperationalError", "ConnectionTimeout"),
)
REFUSED = "28P01"
WORDS = {
    "SQLITE_BUSY": "another program has locked it",
    "SQLITE_LOCKED": "another program has locked it",
    "SQLITE_CANTOPEN": "the file cannot be opened or made, so look at its folder",
    "SQLITE_CORRUPT": "the file is damaged",
    "SQLITE_ERROR": "one of its tables has other columns, so give another file",
    "SQLITE_FULL": "the disk is full",
    "SQLITE_NOTADB": "the file is not an SQLite database, so give another one",
    "SQLITE_READONLY": "the file may only be read",
    REFUSED: "it refuses the user, the password or the database in its URL",
    "42501": "its user may not write to it",
    "42703": "one of its tables has other columns, so give another database",
    "55P03": "another program has locked it",
    "57014": "another program has locked it, or it is too slow",
    "ConnectionTimeout": "it does not answer",
    "ProgrammingError": "its URL has a part that the driver does not know",
    "OperationalError": "no connection, so look at the host, user and password in its URL",
}


class DatabaseError(Exception):
    """The failure of a transaction, perhaps `transient`; its message has no part of the URL."""

    def __init__(self, cause: BaseException | None, lost: bool = False) -> None:
        super().__init__(cause_of(cause))
        self.transient = lost or state_of(cause).startswith(TRANSIENT)


@contextmanager
def replaced(kind: type[F], make: Callable[[F], Exception]) -> Generator[None]:
    """Replace errors of one kind; drop the original errors, whose texts may contain secrets."""
    try:
        yield
    except kind as error:
        failure = make(error)
    else:
        return
    raise failure


class Database(Protocol):
    """A database that one thread uses at a time."""

    place: str  # its name, without secrets
    tables: str  # the statement that lists its tables
    locked: str  # a suffix for a `SELECT` that locks its rows

    def transaction(self, writes: bool, left: float, /) -> AbstractContextManager[Execute]:
        """Yield a function to execute statements in a transaction; `left` bounds waits for locks.

        The transaction is committed after the block. Database failures raise DatabaseError.
        """
        ...

    def close(self) -> None: ...


def cause_of(error: BaseException | None) -> str:
    """Return the cause of a failure in our words: a driver's message may contain user names."""
    state = state_of(error)
    return next((WORDS[code] for code in WORDS if state.startswith(code)), state)


def state_of(error: BaseException | None) -> str:
    """Return the code of a driver's error, or the name of its class."""
    if isinstance(error, Exception) and is_refused(error):
        return REFUSED
    code = getattr(error, "sqlite_errorname", None) or getattr(error, "sqlstate", None)
    return str(code or type(error).__name__)
