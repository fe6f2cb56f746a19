"""Bytes on their way to a disk: sent there early, and copied within the system where it can."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

PIECE = 2**20
EARLY = 8 * PIECE
"""Bytes after which the system is asked to write them to the disk."""


def written(descriptor: int, piece: bytes | memoryview) -> None:
    """Write all of a piece, which one call to the system need not do."""
    rest = memoryview(piece)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def copied(source: int, target: int, go_on: Callable[[], None]) -> None:
    """Copy what is left of an open file to the end of another one, also by way of this process.

    Args:
        source: the descriptor of the one.
        target: that of the other, which will be synced.
        go_on: called before each piece; an exception of it ends the copying.
    """
    early, size, in_system = Early(), 0, hasattr(os, "copy_file_range")
    while True:
        go_on()
        piece = shared(source, target) if in_system else 0
        if not piece:
            in_system = False
            read = os.read(source, PIECE)
            if not read:
                return
            written(target, read)
            piece = len(read)
        size += piece
        early.reached(target, size)


def shared(source: int, target: int) -> int:
    """Copy a piece within the system, which lets files share it on a disk that can do that.

    Returns:
        How many bytes were copied; 0 at the end, or if the system cannot copy here.
    """
    with suppress(OSError):
        return os.copy_file_range(source, target, PIECE)
    return 0


class Early:
    """Has the system write a file to the disk while it grows: its sync has less to wait for."""

    def __init__(self) -> None:
        self._sent = 0

    def reached(self, descriptor: int, size: int) -> None:
        """Hear that an open file has this size now."""
        size -= size % EARLY
        if size > self._sent and hasattr(os, "posix_fadvise"):
            with suppress(OSError):
                # Linux begins to write these bytes, and keeps them for who reads them.
                os.posix_fadvise(descriptor, self._sent, size - self._sent, os.POSIX_FADV_DONTNEED)
        self._sent = size
