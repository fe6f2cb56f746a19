"""The objects below a URL: listed and removed."""

from __future__ import annotations

import os
import stat
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from .._running.aborting import check_not_aborted
from .._words.vocabulary import without_secrets
from .complaints import failure_of
from .extras import needed
from .limits import Limits
from .stores import STAGED, file_of, store_of
from .times import Deadline

if TYPE_CHECKING:
    from obstore.store import ObjectStore


def objects_below(
    url: str, stores: MutableMapping[str, ObjectStore], limits: Limits
) -> dict[str, int]:
    """Return the objects whose keys begin with that of a URL and a slash.

    Args:
        url: as for `Upload`.
        stores: stores by the beginnings of the URLs that they are used for.
        limits: the time-outs, in seconds.

    Returns:
        The rests of their keys, and their sizes in bytes.
    """
    deadline = Deadline(limits)
    shown = deadline.what = without_secrets(url)
    folder = file_of(url, stores)
    if folder is not None:
        return files_in(folder)
    store, key = store_of(url, stores, limits)
    found: dict[str, int] = {}

    async def listed(listing: Any) -> None:  # half of its types are those of another library
        from .loops import answered

        for meta in await answered(listing.list(f"{key}/").collect_async()):
            found[meta["path"].removeprefix(f"{key}/")] = meta["size"]

    performed(partial(listed, store), shown, deadline)
    return found


def remove_object(url: str, stores: MutableMapping[str, ObjectStore], limits: Limits) -> None:
    """Remove the object that a URL names, if it is there; in a folder, the folder if it is empty.

    Unfinished uploads of it are aborted.

    Args:
        url: as for `Upload`.
        stores: stores by the beginnings of the URLs that they are used for.
        limits: the time-outs, in seconds.
    """
    deadline = Deadline(limits)
    shown = deadline.what = without_secrets(url)
    path = file_of(url, stores)
    if path is not None:
        remove_file(path)
        return
    store, key = store_of(url, stores, limits)

    async def removed() -> None:
        import obstore
        from obstore.store import S3Store

        from .loops import answered
        from .unfinished import abort_all

        if isinstance(store, S3Store):
            await abort_all(store, key, limits, deadline)
        with suppress(FileNotFoundError):
            await answered(obstore.delete_async(store, key))

    performed(removed, shown, deadline)


def remove_file(path: str) -> None:
    """Remove a file and what was left of it by who wrote it, and its folder if that is empty."""
    folder, name = os.path.split(path)
    with suppress(FileNotFoundError):
        for other in os.listdir(folder):
            if STAGED.sub("", other) == name:
                with suppress(FileNotFoundError):
                    os.unlink(os.path.join(folder, other))
    remove_empty(folder)


def remove_empty(folder: str) -> None:
    """Remove a folder if it is there, and empty."""
    with suppress(OSError):
        os.rmdir(folder)


def files_in(folder: str) -> dict[str, int]:
    """Return the files in a folder, and their sizes; parts of files are not among them."""
    found: dict[str, int] = {}
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                status = entry.stat()
                if stat.S_ISREG(status.st_mode) and not STAGED.search(entry.name):
                    found[entry.name] = status.st_size
    return found


def performed(work: Callable[[], Awaitable[Any]], shown: str, deadline: Deadline) -> None:
    """Perform requests to a store, until the deadline at most.

    Raises:
        Exception: the failures that `Upload` has in the same cases.
    """
    with needed("Upload"):
        from obstore.exceptions import BaseError

        from .threads import awaited
        from .uploads import check_process
    check_process()
    try:
        awaited(work, deadline, check_not_aborted, 0.0)
    except BaseError as error:
        failure = failure_of(error, shown)
        if isinstance(failure, TimeoutError) and not deadline.left:
            failure = deadline.exceeded()
        raise failure from None
    except (FileNotFoundError, ValueError) as error:
        raise failure_of(error, shown) from None
