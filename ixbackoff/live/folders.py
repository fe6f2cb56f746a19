"""Folders that are used as object stores.

The files are written here, not by the store library: the library does not sync them before it
reports success, and it hangs in a forked process whose parent has used it. While a file is being
written, its name ends in `#1`, `#2` and so on, as in the library, which does not list such names.
The names that this module gives contain `MARK`, and `sweep` removes only files with such names.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from hashlib import sha256
from io import FileIO
from itertools import count
from typing import BinaryIO

from .file_primitives import CREATE, READ, copy_rest, is_name_of, lock, opened, sync_folder, unlink

MARK = ".ixbackoff#"  # before a number, in the name of a file that is being written
LONGEST_NAME = 240  # bytes: the file system takes 255, and the mark and a number are added
SWEPT = 8  # the least number of names that `sweep` tries


def put(path: str, file: BinaryIO, check: Callable[[], None], unchanging: bool = False) -> None:
    """Put a file into a folder whole or not at all; file and name are synced to the disk.

    Args:
        path: the path of the object; an object there is replaced.
        check: called before each piece; an exception that it raises stops the copy.
        unchanging: whether the file never changes: the object may then be a hard link to it.
    """
    folder, name = os.path.split(path)
    stem = path
    if len(os.fsencode(name)) > LONGEST_NAME:
        stem = os.path.join(folder, sha256(os.fsencode(name)).hexdigest())
    if not make(folder):  # a new folder holds nothing to check or sweep
        if os.path.isdir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        sweep(stem)
    if not (unchanging and link(file, path)):
        with staged(stem, path) as descriptor:
            copy_rest(file.fileno(), descriptor, check)


def link(file: BinaryIO, path: str) -> bool:
    """Make a hard link if a copy would have the file's properties; return whether it was made."""
    folder = os.path.dirname(path)
    if inherited(os.path.dirname(file.name)) != inherited(folder):
        return False
    os.fsync(file.fileno())
    try:
        os.link(file.name, path)
    except OSError:  # the name is taken, or this file system has no hard links
        return False
    # If the link is not counted, a later download changes `file` in place, and so `path`, too.
    if not (is_name_of(path, file.fileno()) and os.fstat(file.fileno()).st_nlink > 1):
        unlink(path)
        return False
    sync_folder(folder)
    return True


def inherited(folder: str) -> object:
    """Return the properties that a new file inherits from its folder: disk, group, labels and more.

    If the system does not report them, the result equals no other result.
    """
    if hasattr(os, "listxattr"):
        with suppress(OSError):
            status = os.stat(folder)
            attributes = {name: os.getxattr(folder, name) for name in os.listxattr(folder)}
            return status.st_dev, status.st_gid, status.st_mode & stat.S_ISGID, attributes
    return object()


def make(folder: str) -> bool:
    """Make a folder and its missing parents, and sync their names; return whether it is new."""
    parent = os.path.dirname(folder)
    try:
        os.mkdir(folder)
    except FileNotFoundError:
        if parent == folder:
            raise
        make(parent)
        return make(folder)
    except OSError as error:
        if os.path.isdir(folder):
            return False
        if isinstance(error, FileExistsError):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder) from None
        raise
    sync_folder(parent)
    return True


def sweep(stem: str) -> None:
    """Remove the unfinished copies of killed processes; those of living ones are locked.

    Writers take the lowest free number, so leftovers have low numbers.
    """
    for number in count(1):
        path = f"{stem}{MARK}{number}"
        try:
            file = opened(path, READ)
        except OSError:
            if number >= SWEPT:
                return
            continue
        with file, suppress(OSError):
            lock(file.fileno())
            if is_name_of(path, file.fileno()):
                unlink(path)


@contextmanager
def staged(stem: str, path: str) -> Generator[int]:
    """Yield the descriptor of a new file; rename the file to `path` after the block."""
    file, written = create(stem)
    try:
        try:
            yield file.fileno()
            os.fsync(file.fileno())
        finally:
            if os.name == "nt":  # Windows cannot rename or remove an open file
                file.close()
        os.replace(written, path)
        sync_folder(os.path.dirname(path))
    except BaseException:
        with suppress(OSError):
            unlink(written)
        raise
    finally:
        file.close()


def create(stem: str) -> tuple[FileIO, str]:
    """Create and lock a file; return it with its name."""
    for number in count(1):
        path = f"{stem}{MARK}{number}"
        try:
            file = opened(path, CREATE, 0o666)
        except FileExistsError:
            continue
        try:
            lock(file.fileno())
        except BlockingIOError:  # another process sweeps it
            file.close()
            continue
        except OSError:  # a file system without locks, on which `sweep` removes nothing
            return file, path
        if is_name_of(path, file.fileno()):
            return file, path
        file.close()
    raise AssertionError  # there is always a free number
