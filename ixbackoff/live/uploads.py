"""Uploads: a file goes into an object store, piece by piece."""

from __future__ import annotations

import errno
import math
import os
import stat
import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import AbstractContextManager, nullcontext
from typing import IO, TYPE_CHECKING

from ..vocabulary import Upload, without_secrets
from .complaints import failure_of
from .extras import needed
from .folders import swept
from .limits import Limits
from .stores import store_of

if TYPE_CHECKING:
    from obstore.store import ObjectStore

PIECE = 2**20
PART = 5 * PIECE  # the smallest part that S3 takes
PARTS = 10_000  # the most that S3 takes
PARTS_AT_ONCE = 4


def upload(
    command: Upload,
    stores: MutableMapping[str, ObjectStore],
    limits: Limits,
    checkpoint: Callable[[], None] = lambda: None,
) -> None:
    """Put a file into the store that its URL names; an object is there whole or not at all.

    Args:
        command: which file, and where to.
        stores: stores by the beginning of their URLs.
        limits: its time-outs.
        checkpoint: called before each piece of a large file; what it raises ends the upload.
    """
    with needed("Upload"):
        import obstore
        from obstore.exceptions import BaseError
    shown = without_secrets(command.url)
    deadline = time.monotonic() + limits.total_timeout

    def pieces(file: IO[bytes]) -> Iterator[bytes]:
        while piece := file.read(PIECE):
            checkpoint()
            if time.monotonic() > deadline:
                raise TimeoutError(f"{shown}: not done within {limits.total_timeout:g} s")
            yield piece

    status = os.stat(command.path)
    if stat.S_ISFIFO(status.st_mode):  # opening it would wait for a writer
        raise OSError(errno.EINVAL, "Not a regular file", command.path)
    with open(command.path, "rb") as file:
        store, key = store_of(command.url, stores, limits)
        small = status.st_size <= PART
        with kept_clean(store, key):
            try:
                obstore.put(
                    store,
                    key,
                    file.read() if small else pieces(file),
                    chunk_size=max(PART, math.ceil(status.st_size / PARTS)),
                    max_concurrency=PARTS_AT_ONCE,
                )
            except BaseError as error:
                raise failure_of(error, shown) from None
            except (FileNotFoundError, ValueError) as error:
                if getattr(error, "errno", None) is not None:
                    raise
                raise failure_of(error, shown) from None


async def upload_async(
    command: Upload, stores: MutableMapping[str, ObjectStore], limits: Limits
) -> None:
    """As `upload`; cancelled, it ends before the next piece, and nothing is put."""
    with needed("Upload"):
        import anyio.from_thread

        from .threads import in_thread
    await in_thread(lambda: upload(command, stores, limits, anyio.from_thread.check_cancelled))


def kept_clean(store: ObjectStore, key: str) -> AbstractContextManager[None]:
    from obstore.store import LocalStore

    if isinstance(store, LocalStore) and store.prefix is not None:
        path = os.path.join(store.prefix, key)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return swept(path)
    return nullcontext()
