"""The index of the copies and of the claims to keys, in SQLite or PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, Self, TypeVar
from uuid import uuid4

from .._words.commands import Interpreter
from .._words.extras import INSTALL
from .._words.failure_classes import Transient
from ..live.limits import Deadline, Limits
from .commands import Claim, Copy, Doom, Forget, IndexEntry, Look, Resource, Swap
from .database_interface import Database, DatabaseError, Execute, replaced
from .sqlite import SQLite

A = TypeVar("A")

TABLES = {
    "copies": "name VARCHAR(36), place VARCHAR, resource VARCHAR NOT NULL, etag VARCHAR, "
    "key VARCHAR NOT NULL, size BIGINT NOT NULL, PRIMARY KEY (name, place)",
    "claims": "place VARCHAR, key VARCHAR, name VARCHAR(36) NOT NULL, doomed BOOLEAN NOT NULL, "
    "PRIMARY KEY (place, key)",
    "marks": "number INTEGER PRIMARY KEY, mark VARCHAR(32) NOT NULL",
}
CHECKS = (
    "SELECT name, place, resource, etag, key, size FROM copies LIMIT 0",
    "SELECT place, key, name, doomed FROM claims LIMIT 0",
)
MARK = "SELECT mark FROM marks WHERE number = 1"
MARKED = "INSERT INTO marks (number, mark) VALUES (1, :mark) ON CONFLICT DO NOTHING"
COPY = "SELECT key, etag, size FROM copies WHERE name = :name AND place = :place"
LOOK = """SELECT key, etag, size FROM copies WHERE name = :name AND place = :place UNION ALL
    SELECT key, NULL, NULL FROM claims WHERE name = :name AND place = :place ORDER BY key"""
CLAIM = """INSERT INTO claims (place, key, name, doomed) VALUES (:place, :key, :name, :doomed)
    ON CONFLICT DO NOTHING"""
DOOMED = "SELECT doomed FROM claims WHERE place = :place AND key = :key"
DOOM = "UPDATE claims SET doomed = TRUE WHERE place = :place AND key = :key RETURNING key"
FORGET = "DELETE FROM claims WHERE place = :place AND key = :key"
INSERT = """INSERT INTO copies (name, place, resource, etag, key, size)
    VALUES (:name, :place, :resource, :etag, :key, :size) ON CONFLICT DO NOTHING RETURNING key"""
UPDATE = """UPDATE copies SET resource = :resource, etag = :etag, key = :key, size = :size
    WHERE name = :name AND place = :place AND key = :kept RETURNING key"""
DIGITS, FRESH = 8, 24
"""A key has `DIGITS` digits for its index and its place, and then `FRESH` random ones."""
LIMITS = Limits(total_timeout=30.0)  # of a command, if its program has no shorter limit
CLOSING = 5.0  # seconds that `close` waits for the current command


class IndexUnavailable(Transient):
    """The index cannot be reached at the moment, or another program has locked it."""


class IndexBroken(Exception):
    """The index cannot be used, for example because its file is not a database."""


class Index:
    """The copies and the claims, in the database that `url` names.

    Threads share an index: their transactions are done one after the other.

    Raises:
        ValueError: the URL does not name a database of SQLite or PostgreSQL.
        IndexBroken: the database cannot be used.
        IndexUnavailable: the database cannot be reached at the moment.
        ImportError: the driver is missing; the error names the extra to install.
    """

    def __init__(self, url: str | Path) -> None:
        self.database = opened(url)
        self.place = self.database.place  # without secrets
        self._turn = Lock()
        self._closed = False
        try:
            self._mark = self._do(self._made, writes=False)
        except BaseException:
            self.close()
            raise

    def look(self, command: Look) -> IndexEntry:
        name, place = command.resource.name, command.place
        rows = self._read(LOOK, {"name": name, "place": place})
        beginning = self._beginning(name, place)
        our_key = re.compile(f"{beginning}[0-9a-f]{{{FRESH}}}")
        if not all(our_key.fullmatch(str(key)) for key, *_ in rows):
            raise IndexBroken(
                f"The index {self.place} cannot be used: it has a key that no squirrel has put "
                "there, and the object of this key would be removed, so give another index."
            )
        copy = next((Copy(*row) for row in rows if row[-1] is not None), None)
        claims = tuple(key for key, _, size in rows if size is None)
        return IndexEntry(copy, claims, beginning)

    def has(self, resource: Resource, place: str) -> bool:
        """Return whether a resource has a copy; another squirrel may be adding one."""
        return bool(self._read(COPY, {"name": resource.name, "place": place}))

    def claim(self, command: Claim) -> str:
        name, place = command.resource.name, command.place
        key = self._beginning(name, place) + uuid4().hex[:FRESH]
        claim = {"place": place, "key": key, "name": name, "doomed": False}
        self._do(lambda execute: execute(CLAIM, claim))
        return key

    def swap(self, command: Swap) -> bool:
        return self._do(lambda execute: self._swapped(execute, command))

    def doom(self, command: Doom) -> bool:
        claim = {"place": command.place, "key": command.key}
        return self._do(lambda execute: bool(execute(DOOM, claim)))

    def forget(self, command: Forget) -> None:
        claim = {"place": command.place, "key": command.key}
        self._do(lambda execute: execute(FORGET, claim))

    @property
    def interpreter(self) -> Interpreter[Look | Claim | Swap | Doom | Forget]:
        return (
            Look.handled_by(self.look)
            | Claim.handled_by(self.claim)
            | Swap.handled_by(self.swap)
            | Doom.handled_by(self.doom)
            | Forget.handled_by(self.forget)
        )

    def close(self) -> None:
        """Close the database after the current command, if that ends within `CLOSING` seconds."""
        self._closed = True
        if self._turn.acquire(timeout=CLOSING):
            self.database.close()
            self._turn.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _made(self, execute: Execute) -> str:
        """Create the missing tables; return the mark of this index.

        If another program has a table under one of these names, fail without any change.
        """
        existing = [name for (name,) in execute(self.database.tables, {})]
        for name, columns in TABLES.items():
            if name not in existing:
                execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns})", {})
        for check in CHECKS:
            execute(check, {})
        if not execute(MARK, {}):
            execute(MARKED, {"mark": uuid4().hex})
        ((mark,),) = execute(MARK, {})
        return str(mark)

    def _beginning(self, name: str, place: str) -> str:
        """Return the common prefix of all keys that this index claims for a resource.

        The prefix depends on the mark of this index and on the name of the store, so an index
        removes only its own objects.
        """
        digits = sha256(f"{self._mark} {place}".encode()).hexdigest()[:DIGITS]
        return f"{name}/{digits}"

    def _swapped(self, execute: Execute, command: Swap) -> bool:
        """Swap in one transaction, which locks the claim first, so that no squirrel can doom it."""
        resource, place = command.resource, command.place
        expected, copy = command.expected, command.copy
        claim, which = {"place": place, "key": copy.key}, {"name": resource.name, "place": place}
        doomings = [bool(doomed) for (doomed,) in execute(DOOMED + self.database.locked, claim)]
        rows = execute(COPY + self.database.locked, which)
        kept = rows[0][0] if rows else None
        if kept == copy.key or kept != expected or doomings != [False]:
            return bool(kept == copy.key)
        row = {**which, "resource": str(resource), **copy._asdict()}
        if not (execute(UPDATE, {**row, "kept": kept}) if rows else execute(INSERT, row)):
            return False
        execute(FORGET, claim)
        if kept is not None:
            execute(CLAIM, {**which, "key": kept, "doomed": True})
        return True

    def _do(self, work: Callable[[Execute], A], writes: bool = True) -> A:
        """Do work in a transaction, within the time limit of the current command."""
        deadline = Deadline(LIMITS)
        if not self._turn.acquire(timeout=deadline.left):
            raise self._unavailable("it did not answer in time")
        try:
            if self._closed:
                raise self._unavailable("it was closed")
            transaction = self.database.transaction(writes, deadline.left)
            with replaced(DatabaseError, self._failure), transaction as execute:
                return work(execute)
        finally:
            self._turn.release()

    def _read(self, statement: str, values: Mapping[str, object]) -> Sequence[Any]:
        return self._do(lambda execute: execute(statement, values), writes=False)

    def _unavailable(self, reason: object) -> IndexUnavailable:
        return IndexUnavailable(f"The index {self.place} is not available: {reason}.")

    def _failure(self, error: DatabaseError) -> Exception:
        if error.transient:
            return self._unavailable(error)
        return IndexBroken(f"The index {self.place} cannot be used: {error}.")


def opened(url: str | Path) -> Database:
    try:
        if isinstance(url, Path) or url.startswith("sqlite"):
            return SQLite(url)
        from .postgresql import PostgreSQL

        return PostgreSQL(url)
    except ModuleNotFoundError:
        message = f"An index in PostgreSQL needs a driver: {INSTALL.format('postgresql')}."
        raise ImportError(message) from None
    except ValueError:
        raise ValueError(
            "The index is named by a URL: sqlite:///file or "
            "postgresql+psycopg://user:password@host/database."
        ) from None
