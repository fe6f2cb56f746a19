"""Run the squirrel's command line, and read what it keeps."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest
from obstore.store import LocalStore

from ixbackoff.squirrel.commands import Resource
from ixbackoff.squirrel.squirrel_command import main

FRESH = re.compile("/[0-9a-f]{32}$")


class Row(NamedTuple):
    """A row of the index."""

    name: str
    resource: str
    etag: str | None
    place: str
    key: str
    size: int


class Ran(NamedTuple):
    """The result of a run of the command line."""

    status: int
    out: str
    err: str

    @property
    def results(self) -> list[str]:
        """The column "result" of its table."""
        return [cells[2].strip() for cells in self.cells]

    @property
    def tries(self) -> list[int]:
        return [int(cells[3]) for cells in self.cells]

    @property
    def cells(self) -> list[list[str]]:
        """The first line of each row of its table."""
        lines = [line.split("│") for line in self.out.splitlines() if line.startswith("│")]
        return [cells for cells in lines if cells[3].strip()]


@dataclass(frozen=True)
class Squirrel:
    """The squirrel's command line in this process, with its default store and index in a folder."""

    folder: Path
    capture: pytest.CaptureFixture[str]

    def run(self, *words: str, base: str = "0.01") -> Ran:
        self.capture.readouterr()
        try:
            status = main([*words, "--folder", str(self.folder), "--base", base])
        except SystemExit as refused:
            status = int(str(refused.code))
        return Ran(status, *self.capture.readouterr())

    @property
    def index(self) -> Path:
        return self.folder / "index.sqlite"

    @property
    def rows(self) -> list[Row]:
        return rows_of(self.index)

    @property
    def objects(self) -> dict[str, bytes]:
        return objects_of(self.folder)


def rows_of(index: Path) -> list[Row]:
    with closing(sqlite3.connect(index)) as connection:
        rows = connection.execute("SELECT name, resource, etag, place, key, size FROM copies")
        return [Row(*row) for row in rows]


def claims_of(index: Path) -> list[str]:
    """List the keys of the claims in an index, if there is one."""
    if not index.exists():
        return []
    with closing(sqlite3.connect(index)) as connection:
        return [key for (key,) in connection.execute("SELECT key FROM claims")]


def objects_of(folder: Path) -> dict[str, bytes]:
    """Read the contents of the store in a squirrel's folder, by the names of their resources."""
    objects = folder / "objects"
    if not objects.exists():
        return {}
    store = LocalStore(objects)
    keys = [meta["path"] for page in store.list() for meta in page]
    return by_name({key: bytes(store.get(key).bytes()) for key in keys})


def by_name(objects: dict[str, bytes]) -> dict[str, bytes]:
    """Return objects by the names of their resources, of each of which there is one."""
    named = {key.partition("/")[0]: body for key, body in objects.items()}
    assert len(named) == len(objects), f"more than one object of a resource: {list(objects)}"
    return named


def files_below(folder: Path) -> list[str]:
    """List the files in a folder; the fresh part of a key is shown as `*`."""
    return sorted(FRESH.sub("/*", str(path.relative_to(folder))) for path in folder.rglob("*"))


def tidy(url: str) -> list[str]:
    """List the files in a squirrel's folder when it keeps one resource."""
    name = f"objects/{Resource(url).name}"
    return ["index.sqlite", "objects", name, f"{name}/*"]


@contextmanager
def locking(index: Path, how: str) -> Generator[sqlite3.Connection]:
    """Lock a SQLite index as another program does, until the end of the block or a `rollback`."""
    with closing(
        sqlite3.connect(index, isolation_level=None, check_same_thread=False)
    ) as connection:
        connection.execute(f"BEGIN {how}")
        yield connection
