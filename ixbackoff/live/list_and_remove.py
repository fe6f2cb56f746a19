"""Listing and removing the objects of a store."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .._running.aborting_handlers import check_not_aborted
from .._words.extras import LIVE, needed
from .._words.standard_commands import without_secrets
from .folders import MARK
from .limits import Deadline, Limits
from .store_errors import store_failures
from .store_urls import STAGED, check_process, file_of, store_of

if TYPE_CHECKING:
    from obstore.store import ObjectStore


def objects_below(
    url: str, stores: MutableMapping[str, ObjectStore], limits: Limits
) -> dict[str, int]:
    """Return the sizes in bytes of the objects whose keys begin with the key of a URL and a slash.

    Each object is listed under the rest of its key. A `file:` URL lists no files of inner folders.
    """
    deadline = Deadline(limits, without_secrets(url))
    folder = file_of(url, stores)
    if folder is not None:
        return files_in(folder)
    store, key = store_of(url, stores, limits)
    listing: Any = store  # the types of `list` are in arro3, which is not required
    found: dict[str, int] = {}

    async def collect() -> None:
        from .sync_async_bridges import from_store

        for meta in await from_store(listing.list(f"{key}/").collect_async()):
            found[meta["path"].removeprefix(f"{key}/")] = meta["size"]

    request(collect, deadline)
    return found


def remove_object(url: str, stores: MutableMapping[str, ObjectStore], limits: Limits) -> None:
    """Remove the object that a URL names, if it exists.

    For a `file:` URL, also remove the folder of the file, if the folder is empty afterwards.
    """
    deadline = Deadline(limits, without_secrets(url))
    path = file_of(url, stores)
    if path is not None:
        remove_file(path)
        return
    store, key = store_of(url, stores, limits)

    async def delete() -> None:
        import obstore

        from .sync_async_bridges import from_store

        with suppress(FileNotFoundError):
            await from_store(obstore.delete_async(store, key))

    request(delete, deadline)


def remove_file(path: str) -> None:
    """Remove a file, its unfinished copies, and its folder if that gets empty."""
    folder, name = os.path.split(path)
    names = re.compile(f"{re.escape(name)}({MARK}[0-9]+)?")
    with suppress(FileNotFoundError):
        for other in os.listdir(folder):
            if names.fullmatch(other):
                with suppress(FileNotFoundError):
                    os.unlink(os.path.join(folder, other))
    with suppress(OSError):
        os.rmdir(folder)  # fails if it is missing or not empty


def files_in(folder: str) -> dict[str, int]:
    """Return the sizes of the files in a folder by name, except files that are being written."""
    found: dict[str, int] = {}
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                status = entry.stat()
                if stat.S_ISREG(status.st_mode) and not STAGED.search(entry.name):
                    found[entry.name] = status.st_size
    return found


def request(work: Callable[[], Awaitable[Any]], deadline: Deadline) -> None:
    """Send requests to a store, until the deadline at most; fail as `Upload` does."""
    with needed("Upload", "live", LIVE):
        from .sync_async_bridges import awaited
    check_process()
    with store_failures(deadline):
        awaited(work, deadline, check_not_aborted, 0.0)
