"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Self

from .._words.failures import NotReady

CREATED = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class PartFile:
    """A file that is written beside its target, and replaces the target when it is complete.

    Its name is that of the target, as `.{name}.part`, so the next download overwrites what a killed
    process has left. It is locked, so two downloads never write into one file; the lock ends with
    its process, however that ends.

        with PartFile("a") as part:
            part.write(b"...")
            part.commit()

    Without `commit` the part is removed and the target stays as it was.

    Raises:
        NotReady: another download into the same target is running.
        OSError: the target cannot be written; the error names the target.
    """

    def __init__(self, path: str) -> None:
        folder, name = os.path.split(path)
        self.path = path
        self.part = os.path.join(folder, f".{name}.part")
        self.committed = False

    def __enter__(self) -> Self:
        with naming(self.path):
            check_replaceable(self.path)
            self.descriptor = self._opened()
        return self

    def write(self, chunk: bytes) -> None:
        """Append to the part."""
        rest = memoryview(chunk)
        with naming(self.path):
            while rest:
                rest = rest[os.write(self.descriptor, rest) :]

    def commit(self) -> None:
        """Put the part, which is complete now, in the place of the target."""
        with naming(self.path):
            os.fsync(self.descriptor)
            os.replace(self.part, self.path)
        self.committed = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self.committed:
            with suppress(OSError):
                os.unlink(self.part)
        os.close(self.descriptor)

    def _opened(self) -> int:
        while True:
            descriptor = os.open(self.part, CREATED, 0o666)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # The process that held the lock before may have renamed or removed the file.
                if stands(descriptor, self.part):
                    os.ftruncate(descriptor, 0)
                    return descriptor
            except BlockingIOError:
                os.close(descriptor)
                raise NotReady(f"{self.path}: another download into it is running") from None
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)


def check_replaceable(path: str) -> None:
    """Refuse a target that is not a regular file, which renaming would replace by one."""
    if not os.path.basename(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    with suppress(FileNotFoundError):
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "Not a regular file", path)


def stands(descriptor: int, path: str) -> bool:
    """Return `True` if `path` still names the open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


@contextmanager
def naming(path: str) -> Generator[None]:
    """Let errors of the operating system name `path`, whichever file they came from."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, path) from None
