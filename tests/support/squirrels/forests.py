"""A small world for the squirrel's pipeline: an origin, a folder, a store and an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from ixbackoff import Interpreter, Log, Upload
from ixbackoff.squirrel.commands import (
    Brought,
    Claim,
    Copy,
    Doom,
    Fetch,
    Forget,
    GetETag,
    IndexEntry,
    ListObjects,
    Look,
    Remove,
    Resource,
    Stored,
    Swap,
)
from ixbackoff.squirrel.pipeline import Kept, Places, Row
from ixbackoff.testing.exploring import End

NUTS = Resource("http://oak/nuts")


def places(folder: str) -> Places:
    return Places("s3://den", "den", folder)


@dataclass
class Forest:
    """The world: an ETag is the word that the body is."""

    origin: str | None = "v1"
    files: dict[str, str] = field(default_factory=dict)
    store: dict[str, str] = field(default_factory=dict)
    kept: Copy | None = None
    claims: dict[str, bool] = field(default_factory=dict)
    keys: int = 0
    has_etags: bool = True
    early: bool = False
    """Whether a download has the bytes that belong to an ETag that was asked for before."""

    @classmethod
    def settled(cls) -> Self:
        """A world in which a copy is kept already."""
        return cls(store={"k0": "v1"}, kept=Copy("k0", "v1", 2))

    @classmethod
    def outdated(cls) -> Self:
        """A world in which a copy is kept of what the origin had before."""
        return cls(origin="v2", store={"k0": "v1"}, kept=Copy("k0", "v1", 2))

    def etag(self) -> str | None:
        return self.origin if self.has_etags else None

    def list_objects(self, _: ListObjects) -> tuple[Stored, ...]:
        return tuple(Stored(key, len(body)) for key, body in self.store.items())

    def look(self, _: Look) -> IndexEntry:
        return IndexEntry(self.kept, tuple(self.claims), "k")

    def fetch(self, command: Fetch) -> Brought:
        """A file that came with the ETag that the resource has now is not fetched again."""
        if command.etag is None or self.files.get(command.folder) != command.etag:
            early = command.etag if self.early else None
            self.files[command.folder] = early or str(self.origin)
        held = self.files[command.folder]
        return Brought(command.folder, held if self.has_etags else None, len(held))

    def claim(self, _: Claim) -> str:
        self.keys += 1
        self.claims[f"k{self.keys}"] = False
        return f"k{self.keys}"

    def upload(self, command: Upload) -> None:
        self.store[command.url.removeprefix("s3://den/")] = self.files[command.path]

    def swap(self, command: Swap) -> bool:
        kept = None if self.kept is None else self.kept.key
        if kept == command.copy.key:
            return True
        if kept != command.expected or self.claims.get(command.copy.key) is not False:
            return False
        del self.claims[command.copy.key]
        if kept is not None:
            self.claims[kept] = True
        self.kept = command.copy
        return True

    def doom(self, command: Doom) -> bool:
        if command.key in self.claims:
            self.claims[command.key] = True
        return command.key in self.claims

    def remove(self, command: Remove) -> None:
        self.store.pop(command.key, None)

    def forget(self, command: Forget) -> None:
        self.claims.pop(command.key, None)

    def interpreter(self) -> Interpreter[Row]:
        return (
            GetETag.handled_by(lambda command: self.etag())
            | ListObjects.handled_by(self.list_objects)
            | Look.handled_by(self.look)
            | Fetch.handled_by(self.fetch)
            | Claim.handled_by(self.claim)
            | Upload.handled_by(self.upload)
            | Swap.handled_by(self.swap)
            | Doom.handled_by(self.doom)
            | Remove.handled_by(self.remove)
            | Forget.handled_by(self.forget)
            | Log.handled_by(lambda command: None)
        )

    def files_are_lost(self) -> None:
        self.files.clear()

    def the_origin_has_v2(self) -> None:
        self.origin = "v2"

    def the_origin_has_v1_again(self) -> None:
        self.origin = "v1"

    def no_wrong_hit(self) -> None:
        """What the index says of an object is what the object is."""
        if self.kept is not None:
            body = self.store.get(self.kept.key)
            assert body is not None, f"the index says {self.kept.key}, and it is not there"
            assert self.kept.etag in (body, None), f"{self.kept.key} is {body}, not as {self.kept}"

    def kept_now(self, _: Sequence[End[Kept]]) -> None:
        """The last run was well, and what is kept is what the origin has."""
        assert self.kept is not None, "not kept"
        assert self.store.get(self.kept.key) == self.origin, f"kept: {self.store}"

    def kept_alone(self, _: Sequence[End[Kept]]) -> None:
        """The same, and nothing is left over."""
        self.kept_now(_)
        assert list(self.store) == [self.kept.key if self.kept else ""], f"left: {self.store}"
        assert not self.claims, f"left: {self.claims}"
