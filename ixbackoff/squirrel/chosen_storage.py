"""The storage of a command line: object store, index and folder."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from .. import N3, Command, Delay, Exponential, at, call
from .._words.commands import Handler
from .._words.standard_commands import without_secrets
from ..live import live, s3_store, store_of
from ..live.store_urls import file_of
from .fetched_files import made
from .index import Index
from .progress_display import Display
from .sqlite import is_in_memory

if TYPE_CHECKING:
    from obstore.store import ObjectStore

STORE = re.compile(r"(file://(localhost)?/+[^/?#]|memory://|s3://[^/@?#]+($|/))[^?#]*")


@dataclass(frozen=True)
class Storage:
    store: str  # the URL of the object store; its path does not end with a slash
    stores: dict[str, ObjectStore]  # open stores, by their URLs
    index: str | Path
    folder: Path
    endpoint: str = ""  # the URL of an S3 service other than AWS, or an empty text

    @property
    def name(self) -> str:
        """The name of the store in the index, with the endpoint, if there is one."""
        name = without_secrets(self.store)
        return f"{name} at {without_secrets(self.endpoint)}" if self.endpoint else name


def storage_in(folder: Path) -> Storage:
    return Storage((folder / "objects").as_uri(), {}, folder / "index.sqlite", folder)


def storage_of(args: Namespace) -> Storage:
    """Return the storage of a command line; by default all parts are in one folder."""
    storage = storage_in(args.folder.absolute())
    in_memory = False
    if args.store:
        if not STORE.fullmatch(args.store):
            shown = without_secrets(args.store)
            raise ValueError(
                f"{shown!r} does not name a store: give file:///folder, memory:// or "
                "s3://bucket/prefix."
            )
        in_memory = args.store.startswith("memory://")
        storage = replace(
            storage,
            store=args.store if args.store.endswith("://") else args.store.rstrip("/"),
            index="sqlite://" if in_memory else storage.index,
        )
    if args.index:
        if in_memory and not is_in_memory(args.index):
            raise ValueError(
                "The store is in memory but the index is not, so the index would list objects that "
                "are gone: leave out --index, or give another --store."
            )
        storage = replace(storage, index=args.index)
    return with_open_store(storage, args.endpoint)


def with_open_store(storage: Storage, endpoint: str | None) -> Storage:
    """Return `storage`; if its store is in S3 or in memory, open the store for all threads."""
    scheme, _, rest = storage.store.partition("://")
    if scheme == "s3":
        bucket = rest.partition("/")[0]
        store = s3_store(bucket, endpoint=endpoint)
        storage.stores[f"s3://{bucket}"] = store
        return replace(storage, endpoint=store.config.get("endpoint", ""))
    if endpoint:
        raise ValueError("--endpoint needs a store in S3: give --store s3://bucket/prefix.")
    if scheme == "memory":
        store_of("memory:///key", storage.stores)  # adds the store to `stores`
    return storage


@contextmanager
def store_checked(storage: Storage) -> Generator[None]:
    """Open the store before the block, so that an unusable store is reported first."""
    parts = urlsplit(storage.store)
    with made(Path(unquote(parts.path))) if parts.scheme == "file" else nullcontext():
        if file_of(f"{storage.store}/key", storage.stores) is None:
            store_of(f"{storage.store}/key", storage.stores)
        yield


def opened_index(url: str | Path, schedule: Exponential, display: Display) -> Index:
    """Open the index; if it is not available, wait and retry, at most three times."""

    def open_index() -> Index:
        return Index(url)

    def shown(command: Command[Any], handler: Handler) -> Any:
        if isinstance(command, Delay):
            display.wait("index", command)
        return handler(command)

    return at(N3).retry(call(open_index)).run(live().around(shown), schedule=schedule)
