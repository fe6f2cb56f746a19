"""Uploads of files into object stores, piece by piece."""

from __future__ import annotations

import errno
import math
import os
import stat
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypedDict

from .._running.aborting import check_not_aborted
from .._words.vocabulary import Upload, without_secrets
from .complaints import failure_of
from .extras import needed
from .folders import swept
from .limits import Limits
from .stores import store_of
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
) -> None:
    """Put a file into the store that a URL names; the object appears whole or not at all.

    Args:
        command: the path of the file and the URL of the object.
        stores: stores by the beginnings of the URLs that they are used for.
        limits: the time-outs, in seconds.
        checkpoint: called again and again; an exception of it ends the upload.
    """
    deadline = Deadline(limits)
    with needed("Upload"):
        import obstore
        from obstore.exceptions import BaseError
        from obstore.store import LocalStore, MemoryStore
    shown = deadline.what = without_secrets(command.url)
    status = os.stat(command.path)
    if stat.S_ISFIFO(status.st_mode):  # opening it would wait for a writer
        raise OSError(errno.EINVAL, "Not a regular file", command.path)
    with open(command.path, "rb") as file:
        store, key = store_of(command.url, stores, shortened(limits, deadline))
        near = isinstance(store, LocalStore | MemoryStore)
        small = status.st_size <= PART

        def go_on() -> None:
            checkpoint()
            check_not_aborted()

        def pieces() -> Iterator[bytes]:
            while piece := file.read(PIECE):
                if near:
                    go_on()
                deadline.check()
                yield piece

        content = file.read() if small else pieces()
        options = Options(
            chunk_size=max(PART, math.ceil(status.st_size / PARTS)), max_concurrency=PARTS_AT_ONCE
        )
        with kept_clean(store, key):
            try:
                if near:
                    obstore.put(store, key, content, **options)
                else:  # only an awaited request can be ended while the server says nothing
                    with needed("Upload"):
                        from .threads import awaited
                    putting = partial(obstore.put_async, store, key, content, **options)
                    awaited(putting, deadline, go_on, GRACE)
            except BaseError as error:
                failure = failure_of(error, shown)
                if isinstance(failure, TimeoutError) and not deadline.left:
                    failure = deadline.exceeded()
                raise failure from None
            except (FileNotFoundError, ValueError) as error:
                if getattr(error, "errno", None) is not None:
                    raise
                raise failure_of(error, shown) from None


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


def kept_clean(store: ObjectStore, key: str) -> AbstractContextManager[None]:
    from obstore.store import LocalStore

    if isinstance(store, LocalStore) and store.prefix is not None:
        path = os.path.join(store.prefix, key)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return swept(path)
    return nullcontext()
