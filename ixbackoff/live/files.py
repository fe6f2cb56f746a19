"""Files that are written whole or not at all, and go on where an earlier try has stopped."""

from __future__ import annotations

import atexit
import errno
import json
import os
import stat
from contextlib import suppress
from hashlib import sha256
from types import TracebackType
from typing import NamedTuple, Self

from .._running.boots import boot_id
from .._words.failures import NotReady
from .._words.texts import printable
from .disks import Early, copied, written
from .locks import lock
from .naming import naming

READ = (
    os.O_RDWR
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)  # of Windows
)
MADE = READ | os.O_CREAT | os.O_EXCL
NOTED = MADE & ~os.O_RDWR | os.O_WRONLY
LONGEST_NAME = 240  # bytes, so that there is room for ".", ".part" and ".json"
WORTH_KEEPING = 16 * 1024  # bytes; less comes in one round trip


class Origin(NamedTuple):
    """The place where the bytes of a part come from.

    Attributes:
        source: what stands for the URL.
        validator: an ETag or a date that changes with the bytes.
        size: the bytes of the whole, if that is known.
    """

    source: str
    validator: str
    size: int | None


class PartFile:
    """A file that is written beside its target, and replaces the target when it is complete.

    Its name is that of the target, as `.{name}.part`. Beside it is a note of where its bytes come
    from, if they can be asked for in parts: then the part stays after a failure or a kill, and the
    next download goes on with it. It does not after a restart of the machine, since what was
    written last may not be on the disk. The part is locked, so two downloads never write into one
    file; the lock ends with its process, however that ends.

        with PartFile("a") as part:
            part.begin(None)
            part.write(b"...")
            part.commit()

    Without `commit` the target stays as it was.

    Args:
        path: the target.
        early: true to have the system write to the disk while the part grows, which may hold up
            `write` for a moment; for one that will be synced.

    Attributes:
        size: the bytes of the part.
        origin: where they come from, if they can be asked for in parts.

    Raises:
        NotReady: another download into the same target is running.
        OSError: the target cannot be written; the error names the target.
    """

    def __init__(self, path: str, early: bool = False) -> None:
        folder, name = os.path.split(path)
        if len(os.fsencode(name)) > LONGEST_NAME:
            name = sha256(os.fsencode(name)).hexdigest()
        self.path = path
        self.folder = folder or os.curdir
        self.part = os.path.join(folder, f".{name}.part")
        self.note = f"{self.part}.json"
        self.size = 0
        self.origin: Origin | None = None
        self.noted = True  # until that is known
        self.committed = False
        self.descriptor = -1
        self.process = 0
        self._early = Early() if early else None

    def __enter__(self) -> Self:
        OPEN.add(self)
        self.process = os.getpid()
        try:
            with naming(self.path):
                check_replaceable(self.path)
                self.descriptor, self.size = self._opened()
                self.origin = self._noted() if self.size else None
        except BaseException:
            if self.size:  # somebody has left it, and may want to go on with it
                self._close()
            self.leave()
            raise
        return self

    def last_byte(self) -> bytes:
        """Return the last byte of the part."""
        with naming(self.path):
            os.lseek(self.descriptor, self.size - 1, os.SEEK_SET)
            return os.read(self.descriptor, 1)

    def begin(self, origin: Origin | None) -> None:
        """Begin anew, with bytes from `origin`; with `None` the part does not stay."""
        if self.size:
            self.cut(0)
        self.origin = origin
        with naming(self.path):
            removed(self.note)
            self.noted = False
            if origin is not None and (origin.size is None or origin.size >= WORTH_KEEPING):
                self.noted = True
                descriptor = os.open(self.note, NOTED, 0o600)
                with open(descriptor, "w") as note:
                    json.dump([*origin, boot_id()], note)

    def cut(self, size: int) -> None:
        """Go on after the first `size` bytes."""
        with naming(self.path):
            os.ftruncate(self.descriptor, size)
            os.lseek(self.descriptor, size, os.SEEK_SET)
        self.size = size

    def write(self, chunk: bytes) -> None:
        """Append to the part."""
        with naming(self.path):
            written(self.descriptor, chunk)
        self.size += len(chunk)
        if self._early is not None:
            self._early.reached(self.descriptor, self.size)

    def separate(self) -> None:
        """Have the part in a file of its own, if the file that it was in is another's by now.

        Raises:
            NotReady: another download has taken its name.
        """
        former = self.descriptor
        with naming(self.path):
            if stands(former, self.part):
                if is_mine(os.fstat(former)):
                    return
                removed(self.part)
            self.descriptor, self.size = self._opened()
            self.cut(0)
            try:
                os.lseek(former, 0, os.SEEK_SET)
                copied(former, self.descriptor, lambda: None)
            finally:
                os.close(former)
                self.size = os.fstat(self.descriptor).st_size

    def commit(self) -> None:
        """Put the part, which is complete now, in the place of the target, also on the disk."""
        with naming(self.path):
            os.fsync(self.descriptor)
            removed(self.note)
            if os.name == "nt":  # there a file that is open cannot be renamed
                self._close()
            os.replace(self.part, self.path)
            self.committed = True
            synced(self.folder)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.leave()

    def leave(self) -> None:
        """Remove the part unless it is to stay, and let go of it; Ctrl-C is raised after that."""
        interrupted: KeyboardInterrupt | None = None
        while True:
            try:
                self._leave()
                OPEN.discard(self)
            except KeyboardInterrupt as again:
                interrupted = again
            else:
                break
        if interrupted is not None:
            raise interrupted

    def _leave(self) -> None:
        kept = self.origin is not None and self.size >= WORTH_KEEPING
        with suppress(OSError):
            # Once it does not stand there any more, what does is another's.
            if not (self.committed or kept) and stands(self.descriptor, self.part):
                if self.noted:
                    removed(self.note)
                if os.name == "nt":
                    self._close()
                removed(self.part)
        self._close()

    def _close(self) -> None:
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _noted(self) -> Origin | None:
        """Return where the bytes of a part come from that somebody has left."""
        with suppress(OSError, ValueError, TypeError):
            if is_mine(os.lstat(self.note)):
                with open(self.note) as note:
                    source, validator, size, boot = json.load(note)
                if boot == boot_id() != "":
                    return Origin(str(source), str(validator), None if size is None else int(size))
        return None

    def _opened(self) -> tuple[int, int]:
        """Open and lock the part; return its descriptor and its size."""
        while True:
            try:
                descriptor = os.open(self.part, MADE, 0o666)
            except FileExistsError:
                with suppress(FileNotFoundError):
                    if not is_mine(os.lstat(self.part)):
                        os.unlink(self.part)  # nobody else may read or change what is written
                        continue
                try:
                    descriptor = os.open(self.part, READ)
                except FileNotFoundError:
                    continue
            try:
                lock(descriptor)
            except OSError:
                os.close(descriptor)
                shown = printable(self.path)
                raise NotReady(f"{shown}: another download into it is running") from None
            try:
                # The process that held the lock before may have renamed or removed the file.
                status = os.fstat(descriptor)
                if is_mine(status) and named(self.part, status):
                    return descriptor, status.st_size
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)


OPEN: set[PartFile] = set()
"""The files that are being written. An event loop that is interrupted again and again leaves them,
so they are looked after at the end of the process."""


@atexit.register
def leave_all() -> None:
    """Leave the files of this process; a child has copies of those of its parent."""
    for part in [*OPEN]:
        if part.process == os.getpid():
            part.leave()


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


def is_mine(status: os.stat_result) -> bool:
    """Return `True` for a regular file of this user that has one name."""
    return belongs(status) and status.st_nlink == 1


def belongs(status: os.stat_result) -> bool:
    """Return `True` for a regular file of this user."""
    user = os.geteuid() if hasattr(os, "geteuid") else status.st_uid
    return stat.S_ISREG(status.st_mode) and status.st_uid == user


def stands(descriptor: int, path: str) -> bool:
    """Return `True` if `path` still names the open file."""
    return named(path, os.fstat(descriptor))


def named(path: str, status: os.stat_result) -> bool:
    """Return `True` if `path` names the file with this status."""
    try:
        return os.path.samestat(status, os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        return False


def removed(path: str) -> None:
    """Remove a file, if it is there."""
    with suppress(FileNotFoundError):
        os.unlink(path)


def synced(folder: str) -> None:
    """Have the names in a folder on the disk, where the system knows how."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
