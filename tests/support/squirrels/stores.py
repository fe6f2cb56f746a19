"""The stores of squirrels that are killed: a folder, or a bucket of a server of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import httpx2
from obstore.store import LocalStore, ObjectStore

from ixbackoff.live import s3_store


class Store(Protocol):
    """A store, as seen from outside.

    Attributes:
        words: the words of the command line that name it.
        place: its name in the index.
    """

    @property
    def words(self) -> list[str]: ...

    @property
    def place(self) -> str: ...

    def objects(self) -> dict[str, bytes]:
        """Return all objects, by their keys."""
        ...

    def unfinished(self) -> list[str]:
        """Return the unfinished uploads, which are not listed as objects."""
        ...


@dataclass(frozen=True)
class Folder:
    """A store in a squirrel's folder."""

    folder: Path

    @property
    def words(self) -> list[str]:
        return []

    @property
    def place(self) -> str:
        return (self.folder / "objects").as_uri()

    def objects(self) -> dict[str, bytes]:
        where = self.folder / "objects"
        return read(LocalStore(where)) if where.exists() else {}

    def unfinished(self) -> list[str]:
        found = (self.folder / "objects").rglob("*#*")
        return sorted(str(path.relative_to(self.folder)) for path in found)


@dataclass(frozen=True)
class Bucket:
    """A bucket behind an endpoint."""

    endpoint: str
    name: str

    @property
    def words(self) -> list[str]:
        return ["--store", f"s3://{self.name}", "--endpoint", self.endpoint]

    @property
    def place(self) -> str:
        return f"s3://{self.name} at {self.endpoint}"

    def make(self) -> None:
        httpx2.put(f"{self.endpoint}/{self.name}").raise_for_status()

    def objects(self) -> dict[str, bytes]:
        return read(s3_store(self.name, endpoint=self.endpoint))

    def unfinished(self) -> list[str]:
        answer = httpx2.get(f"{self.endpoint}/{self.name}?uploads").raise_for_status()
        return re.findall("<Key>(.*?)</Key>", answer.text)


def read(store: ObjectStore) -> dict[str, bytes]:
    keys = [meta["path"] for page in store.list() for meta in page]
    return {key: bytes(store.get(key).bytes()) for key in keys}
