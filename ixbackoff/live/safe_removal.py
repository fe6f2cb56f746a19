"""Removal of fetched files, only from folders that belong to this user and are not links.

Whoever can write beside such a folder could put a link in its place, and so could a git repository
that is checked out there. Then the files behind the link would be removed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from re import Pattern
from typing import NamedTuple

from .file_primitives import READ, is_name_of, is_own, lock

TAKES_FOLDERS = os.open in os.supports_dir_fd  # false on Windows
OPEN_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
REPARSE_POINT = 0x400  # the attribute of Windows's links and junctions
LINK = "It is a link, and the files behind it may be anybody's"


class OwnFolder(NamedTuple):
    """An open folder; names in it are relative to `descriptor`, which is `None` on Windows."""

    path: str
    descriptor: int | None

    def at(self, name: str) -> str:
        """Return the path of a file for functions that take `dir_fd=folder.descriptor`."""
        return os.path.join(self.path, name) if self.descriptor is None else name

    def names(self, shape: Pattern[str]) -> list[str]:
        held = os.listdir(self.path if self.descriptor is None else self.descriptor)
        return [name for name in held if shape.fullmatch(name)]

    def age_of(self, name: str, now: float) -> float:
        found = os.stat(self.at(name), dir_fd=self.descriptor, follow_symlinks=False)
        return now - found.st_mtime

    def remove(self, name: str) -> None:
        """Remove a file; if it is a link, only the link."""
        os.unlink(self.at(name), dir_fd=self.descriptor)

    def remove_unlocked(self, name: str) -> None:
        """Remove a file of this user; raise OSError if a process has locked it."""
        with open(os.open(self.at(name), READ, dir_fd=self.descriptor), "rb") as file:
            descriptor = file.fileno()
            lock(descriptor)
            still_named = is_name_of(self.at(name), descriptor, self.descriptor)
            if is_own(os.fstat(descriptor)) and still_named:
                if os.name == "nt":  # Windows cannot remove an open file
                    file.close()
                self.remove(name)

    def remove_inner(self, name: str, shape: Pattern[str]) -> None:
        """Remove an inner folder, and the files in it whose names match `shape`.

        Raises:
            OSError: the folder is missing, a link or another user's, or something else is in it.
        """
        with opened(self.at(name), os.path.join(self.path, name), self.descriptor) as folder:
            for file in folder.names(shape):
                with suppress(OSError):
                    folder.remove(file)
        os.rmdir(self.at(name), dir_fd=self.descriptor)


def own_folder(path: str | os.PathLike[str]) -> AbstractContextManager[OwnFolder]:
    """Open a folder of this user.

    Raises:
        OSError: the folder is missing, a link, or another user's; the error names the folder.
    """
    return opened(os.fspath(path), os.fspath(path), None)


@contextmanager
def opened(name: str, path: str, within: int | None) -> Generator[OwnFolder]:
    status = os.stat(name, dir_fd=within, follow_symlinks=False)
    check_own(status, path)
    if not TAKES_FOLDERS:
        yield OwnFolder(path, None)
        return
    descriptor = os.open(name, OPEN_FOLDER, dir_fd=within)
    try:
        check_own(os.fstat(descriptor), path)
        yield OwnFolder(path, descriptor)
    finally:
        os.close(descriptor)


def check_own(status: os.stat_result, path: str) -> None:
    if stat.S_ISLNK(status.st_mode) or getattr(status, "st_file_attributes", 0) & REPARSE_POINT:
        raise OSError(errno.ELOOP, LINK, path)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "It belongs to another user", path)
