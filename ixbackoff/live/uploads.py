"""Uploads of files into object stores, piece by piece."""

from __future__ import annotations

import errno
import math
import os
import stat
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

from .._running.aborting_handlers import check_not_aborted
from .._words.extras import LIVE, needed
from .._words.standard_commands import Upload, without_secrets
from . import folders
from .file_primitives import naming
from .limits import Deadline, Limits
from .store_errors import store_failures
from .store_urls import check_free, check_process, file_of, folder_of, store_of

if TYPE_CHECKING:
    from obstore.store import ObjectStore

PIECE = 2**20
PART = 5 * PIECE  # the smallest part that S3 takes
PARTS = 10_000  # the most that S3 takes
PARTS_AT_ONCE = 4
GRACE = 0.1  # seconds after the deadline to abort the upload of a large file


def upload(
    command: Upload,
    stores: MutableMapping[str, ObjectStore],
    limits: Limits,
    check: Callable[[], None] = lambda: None,
    unchanging: bool = False,
) -> None:
    """Put a file into the store that a URL names; `folders.put` explains `check`, `unchanging`."""
    deadline = Deadline(limits, without_secrets(command.url))
    # `open` would wait for a writer of a pipe
    if not unchanging and stat.S_ISFIFO(os.stat(command.path).st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", command.path)

    def check_wanted() -> None:
        check()
        check_not_aborted()

    def check_all() -> None:
        check_wanted()
        deadline.check()

    path = file_of(command.url, stores)
    with open(command.path, "rb", buffering=0) as file:
        if path is None:
            store, key = store_of(command.url, stores, shortened(limits, deadline))
            folder = folder_of(store)
            if folder is None:
                put(store, key, file, deadline, check_wanted)
                return
            path = os.path.join(folder, *key.split("/"))
        check_free(path, deadline.what)
        with naming(deadline.what):
            folders.put(path, file, check_all, unchanging)


def pieces(file: BinaryIO, deadline: Deadline, check: Callable[[], None]) -> Iterator[bytes]:
    while piece := file.read(PIECE):
        check()
        deadline.check()
        yield piece


def put(
    store: ObjectStore,
    key: str,
    file: BinaryIO,
    deadline: Deadline,
    check: Callable[[], None],
) -> None:
    check_process()
    with needed("Upload", "live", LIVE):
        import obstore
        from obstore.store import MemoryStore

        from .sync_async_bridges import awaited, from_store
    size = os.fstat(file.fileno()).st_size
    part = max(PART, math.ceil(size / PARTS))
    # For S3 the library reads the pieces in threads of its own, which lack the context variables
    # that `check` reads.
    piece_check = check if isinstance(store, MemoryStore) else lambda: None
    content = file.read() if size <= PART else pieces(file, deadline, piece_check)

    async def send() -> None:
        await from_store(
            obstore.put_async(store, key, content, chunk_size=part, max_concurrency=PARTS_AT_ONCE)
        )

    with store_failures(deadline):
        if isinstance(store, MemoryStore):
            obstore.put(store, key, content)
        else:  # only an awaited request can be cancelled while the server sends nothing
            awaited(send, deadline, check, GRACE)


async def upload_async(
    command: Upload, stores: MutableMapping[str, ObjectStore], limits: Limits
) -> None:
    """Do what `upload` does, in a thread; a cancelled upload leaves no incomplete object."""
    with needed("Upload", "live", LIVE):
        import anyio.from_thread

        from .sync_async_bridges import in_thread
    await in_thread(lambda: upload(command, stores, limits, anyio.from_thread.check_cancelled))


def shortened(limits: Limits, deadline: Deadline) -> Limits:
    """Return `limits` with timeouts cut to the time left, so the client aborts a late upload."""
    deadline.check()
    return replace(
        limits,
        connect_timeout=deadline.shorten(limits.connect_timeout),
        part_timeout=deadline.shorten(limits.part_timeout),
    )
