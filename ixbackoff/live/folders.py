"""Folders that are used as object stores.

Files are written here and not by the store library: that does not have them on the disk when it
says so, and hangs in a process that was forked from one that has used it. It shares the names of
files that are being written, which it does not list: `{name}#1`, `{name}#2` and so on.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import count
from typing import BinaryIO

from .disks import copied
from .files import MADE, READ, named, removed, stands, synced
from .locks import lock

LONGEST_NAME = 245  # bytes, so that there is room for "#" and a number
LOOKED_FOR = 8


def put(path: str, file: BinaryIO, go_on: Callable[[], None], given: bool = False) -> None:
    """Put a file into a folder whole or not at all; afterwards it is on the disk, with its name.

    Args:
        path: where to; what stands there is replaced.
        file: the file, open to be read.
        go_on: called again and again; an exception of it ends the writing.
        given: true if nobody will ever change the file: then it may stand in both places.
    """
    folder, name = os.path.split(path)
    stem = path
    if len(os.fsencode(name)) > LONGEST_NAME:
        stem = os.path.join(folder, sha256(os.fsencode(name)).hexdigest())
    if not made(folder):  # in a new one there is nothing
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        swept(stem)
    if not (given and linked(file, path)):
        with staged(stem, path) as descriptor:
            copied(file.fileno(), descriptor, go_on)


def linked(file: BinaryIO, path: str) -> bool:
    """Give a file a second name, where it looks then as a copy would; else return false."""
    folder = os.path.dirname(path)
    if inherited(os.path.dirname(file.name)) != inherited(folder):
        return False
    os.fsync(file.fileno())
    try:
        os.link(file.name, path)
    except OSError:  # something stands there, or there are no such links on this disk
        return False
    # Whoever would change the file looks at the number of its names first, so that must be right.
    status = os.fstat(file.fileno())
    if not (named(path, status) and status.st_nlink > 1):
        removed(path)
        return False
    synced(folder)
    return True


def inherited(folder: str) -> object:
    """Return what a new file gets from its folder: the disk, the group, rights and labels.

    Where that cannot be known, each folder differs from all others.
    """
    if hasattr(os, "listxattr"):
        with suppress(OSError):
            status = os.stat(folder)
            attributes = {name: os.getxattr(folder, name) for name in os.listxattr(folder)}
            return status.st_dev, status.st_gid, status.st_mode & stat.S_ISGID, attributes
    return object()


def made(folder: str) -> bool:
    """Make a folder and those around it that are missing, also on the disk.

    Returns:
        Whether the folder is new.
    """
    around = os.path.dirname(folder)
    try:
        os.mkdir(folder)
    except FileNotFoundError:
        if around == folder:
            raise
        made(around)
        return made(folder)
    except OSError as error:
        if os.path.isdir(folder):
            return False
        if isinstance(error, FileExistsError):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder) from None
        raise
    synced(around)
    return True


def swept(stem: str) -> None:
    """Remove what killed processes have left of a file. What is being written is locked, and stays.

    It is looked for under the lowest numbers, since the lowest that is free is always taken.
    """
    for number in count(1):
        path = f"{stem}#{number}"
        try:
            descriptor = os.open(path, READ)
        except OSError:
            if number >= LOOKED_FOR:
                return
            continue
        try:
            lock(descriptor)
            if stands(descriptor, path):
                removed(path)
        except OSError:
            pass
        finally:
            os.close(descriptor)


@contextmanager
def staged(stem: str, path: str) -> Generator[int]:
    """Give a new file to write to, which takes the place of `path` at the end of the block."""
    descriptor, written = opened(stem)
    try:
        try:
            yield descriptor
            os.fsync(descriptor)
        finally:
            if os.name == "nt":  # there a file that is open cannot be renamed or removed
                os.close(descriptor)
                descriptor = -1
        os.replace(written, path)
        synced(os.path.dirname(path))
    except BaseException:
        with suppress(OSError):
            removed(written)
        raise
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def opened(stem: str) -> tuple[int, str]:
    """Open a new file that nobody else writes to; return it with its name."""
    for number in count(1):
        path = f"{stem}#{number}"
        try:
            descriptor = os.open(path, MADE, 0o666)
        except FileExistsError:
            continue
        try:
            lock(descriptor)
        except BlockingIOError:  # locked by one who sweeps
            os.close(descriptor)
            continue
        except OSError:  # nothing can be locked here, so nothing is swept
            return descriptor, path
        if stands(descriptor, path):
            return descriptor, path
        os.close(descriptor)
    raise AssertionError  # there are numbers enough
