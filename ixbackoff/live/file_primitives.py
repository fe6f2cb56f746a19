"""Files as the operating system has them: their bytes, names, owners and locks."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from io import FileIO

try:
    import fcntl
except ModuleNotFoundError:  # on Windows
    import portalocker

    def lock(descriptor: int) -> None:
        flags = portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING
        try:
            portalocker.lock(descriptor, flags)
        except portalocker.AlreadyLocked as error:
            raise BlockingIOError(f"{error}") from None
        except portalocker.LockException as error:
            raise OSError(f"{error}") from None

else:

    def lock(descriptor: int) -> None:
        """Lock an open file, or fail at once; the lock ends when the file is closed.

        Raises:
            BlockingIOError: another open file holds the lock.
            OSError: this file system has no locks.
        """
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


# Flags that open an existing file to read and write it, but do not follow a link.
READ = (
    os.O_RDWR
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)  # of Windows
)
CREATE = READ | os.O_CREAT | os.O_EXCL  # fails if the name is taken
PIECE = 2**20


# Ctrl-C is raised after any call in Python code, also between `os.open` and the assignment of its
# result. The descriptor and its lock would stay until the process ends, and a `try` does not help,
# because there is no name to close. So each descriptor belongs to an object before Python code
# continues: `map`, `next`, `extend` and `any` call functions without a return to Python code.


def opened(path: str, flags: int, mode: int = 0o600) -> FileIO:
    """Open a file; it is closed when the result is dropped, at the latest."""
    return next(map(FileIO, map(os.open, [path], [flags], [mode]), ["r+"]))


def write_all(descriptor: int, piece: bytes | memoryview) -> None:
    """Write a whole piece: one system call may write only the beginning."""
    rest = memoryview(piece)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def copy_rest(source: int, target: int, check: Callable[[], None]) -> None:
    """Append the rest of an open file to another one, inside the kernel where that is possible.

    An exception of `check`, which is called before each piece, stops the copy. The caller syncs
    the target.
    """
    while True:
        check()
        if not copy_in_system(source, target):
            piece = os.read(source, PIECE)
            if not piece:
                return
            write_all(target, piece)


def copy_in_system(source: int, target: int) -> int:
    """Copy a piece with `copy_file_range`; return its size, 0 at the end or if the call fails."""
    with suppress(OSError, AttributeError):  # some systems lack it
        return os.copy_file_range(source, target, PIECE)
    return 0


def sync_folder(folder: str) -> None:
    """Sync the names in a folder to the disk, where the system can."""
    if hasattr(os, "O_DIRECTORY"):
        descriptors: list[int] = []
        closing = map(os.close, descriptors)
        try:
            descriptors.extend(map(os.open, [folder], [os.O_RDONLY | os.O_DIRECTORY]))
            os.fsync(*descriptors)
        finally:
            any(closing)


def unlink(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def check_replaceable(path: str) -> None:
    """Raise OSError if `path` ends in a slash, or leads to something but a regular file."""
    if not os.path.basename(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    with suppress(FileNotFoundError):
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "Not a regular file", path)


def is_sole(status: os.stat_result) -> bool:
    """Return `True` for a regular file of this user that has a single name."""
    return is_own(status) and status.st_nlink == 1


def is_own(status: os.stat_result) -> bool:
    user = os.geteuid() if hasattr(os, "geteuid") else status.st_uid
    return stat.S_ISREG(status.st_mode) and status.st_uid == user


def is_name_of(path: str, descriptor: int, folder: int | None = None) -> bool:
    """Return `True` if `path`, relative to an open `folder`, still names the open file."""
    try:
        found = os.stat(path, dir_fd=folder, follow_symlinks=False)
        return os.path.samestat(os.fstat(descriptor), found)
    except FileNotFoundError:
        return False


@contextmanager
def naming(path: str) -> Generator[None]:
    """Raise errors of the operating system with `path` as their file name."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, path) from None
