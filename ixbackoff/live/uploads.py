"""Uploads of files into object stores, piece by piece."""

from __future__ import annotations

import errno
import math
import os
import stat
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO, TypedDict

from .._running.aborting import check_not_aborted
from .._words.commands import Misuse
from .._words.vocabulary import Upload, without_secrets
from . import folders
from .complaints import failure_of
from .extras import needed
from .limits import Limits
from .naming import naming
from .stores import check_free, file_of, store_of
from .times import Deadline

if TYPE_CHECKING:
    from obstore.store import ObjectStore

PIECE = 2**20
PART = 5 * PIECE  # the smallest part that S3 takes
PARTS = 10_000  # the most that S3 takes
PARTS_AT_ONCE = 4
GRACE = 0.1  # seconds after the deadline to remove the parts of a large file


class Options(TypedDict):
    chunk_size: int
    max_concurrency: int


def upload(
    command: Upload,
    stores: MutableMapping[str, ObjectStore],
    limits: Limits,
    checkpoint: Callable[[], None] = lambda: None,
    given: bool = False,
) -> None:
    """Put a file into the store that a URL names; the object appears whole or not at all.

    Args:
        command: the path of the file and the URL of the object.
        stores: stores by the beginnings of the URLs that they are used for.
        limits: the time-outs, in seconds.
        checkpoint: called again and again; an exception of it ends the upload.
        given: true if nobody will ever change the file, which then may become the object itself.
    """
    deadline = Deadline(limits)
    deadline.what = without_secrets(command.url)
    if not given and stat.S_ISFIFO(os.stat(command.path).st_mode):  # it would wait for a writer
        raise OSError(errno.EINVAL, "Not a regular file", command.path)

    def go_on() -> None:
        checkpoint()
        check_not_aborted()

    def in_time() -> None:
        go_on()
        deadline.check()

    path = file_of(command.url, stores)
    with open(command.path, "rb", buffering=0) as file:
        if path is not None:
            check_free(path, deadline.what)
            with naming(deadline.what):
                folders.put(path, file, in_time, given)
            return
        shorter = shortened(limits, deadline)
        store, key = store_of(command.url, stores, shorter)
        if (folder := folder_of(store)) is not None:
            check_free(key, deadline.what)
            with naming(deadline.what):
                folders.put(os.path.join(folder, *key.split("/")), file, in_time, given)
        else:
            put(store, key, file, shorter, deadline, go_on)


def pieces(file: BinaryIO, deadline: Deadline, go_on: Callable[[], None]) -> Iterator[bytes]:
    """Yield the bytes of a file piece by piece, as long as that may go on."""
    while piece := file.read(PIECE):
        go_on()
        deadline.check()
        yield piece


def put(
    store: ObjectStore,
    key: str,
    file: BinaryIO,
    limits: Limits,
    deadline: Deadline,
    go_on: Callable[[], None],
) -> None:
    """Put a file into a store that is not a folder."""
    check_process()
    with needed("Upload"):
        import obstore
        from obstore.exceptions import BaseError
        from obstore.store import MemoryStore, S3Store

        from .loops import answered
        from .threads import awaited
        from .unfinished import tidied
    size = os.fstat(file.fileno()).st_size
    options = Options(chunk_size=max(PART, math.ceil(size / PARTS)), max_concurrency=PARTS_AT_ONCE)
    # What is called by threads of the store library cannot tell whether this one may go on.
    here = go_on if isinstance(store, MemoryStore) else lambda: None
    content = file.read() if size <= PART else pieces(file, deadline, here)

    async def putting() -> None:
        if size > PART and isinstance(store, S3Store):
            async with tidied(store, key, limits, deadline):
                await answered(obstore.put_async(store, key, content, **options))
        else:
            await answered(obstore.put_async(store, key, content, **options))

    try:
        if isinstance(store, MemoryStore):
            obstore.put(store, key, content, **options)
        else:  # only an awaited request can be ended while the server says nothing
            awaited(putting, deadline, go_on, GRACE)
    except BaseError as error:
        failure = failure_of(error, deadline.what)
        if isinstance(failure, TimeoutError) and not deadline.left:
            failure = deadline.exceeded()
        raise failure from None
    except (FileNotFoundError, ValueError) as error:
        if getattr(error, "errno", None) is not None:
            raise
        raise failure_of(error, deadline.what) from None


async def upload_async(
    command: Upload, stores: MutableMapping[str, ObjectStore], limits: Limits
) -> None:
    """Do what `upload` does, in a thread; if it is cancelled, no object appears."""
    with needed("Upload"):
        import anyio.from_thread

        from .threads import in_thread
    await in_thread(lambda: upload(command, stores, limits, anyio.from_thread.check_cancelled))


def shortened(limits: Limits, deadline: Deadline) -> Limits:
    """Return limits by which a request of the store ends at the deadline.

    The client of the store can then still remove the parts of a large file.
    """
    deadline.check()
    return replace(
        limits,
        connect_timeout=deadline.of(limits.connect_timeout),
        part_timeout=deadline.of(limits.part_timeout),
    )


def folder_of(store: ObjectStore) -> str | None:
    """Return the folder that is a store, if it is one."""
    with needed("Upload"):
        from obstore.store import LocalStore
    return os.path.abspath(store.prefix or os.sep) if isinstance(store, LocalStore) else None


PROCESSES: list[int] = []
"""The process that has begun to use the store library, if any."""


def check_process() -> None:
    """Check that the store library can be used here.

    Raises:
        Misuse: it was used before this process was forked: it would wait without end.
    """
    process = os.getpid()
    if not PROCESSES:
        PROCESSES.append(process)
    if process not in PROCESSES:
        raise Misuse(
            "This process was forked from one that has used object stores, and cannot use them: "
            'start it with the method "spawn" or "forkserver", or upload to a folder (file://).'
        )
