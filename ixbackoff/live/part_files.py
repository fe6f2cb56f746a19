"""Files that are written whole or not at all, and resume where an earlier try stopped."""

from __future__ import annotations

import atexit
import json
import os
from contextlib import suppress
from hashlib import sha256
from io import FileIO
from typing import NamedTuple, Self
from weakref import WeakSet

from .._running.aborting_handlers import COPY, check_not_aborted
from .._running.boot_clock import boot_id
from .._words.failure_classes import NotReady
from .._words.printable_text import printable
from . import file_primitives as system

LONGEST_NAME = 240  # bytes: the file system takes 255, and ".", ".part" and ".json" are added
LONGEST_NOTE = 256 * 1024  # bytes; the headers of a response, escaped, are shorter
WORTH_KEEPING = 16 * 1024  # bytes; about as many arrive in the first round trip


class PartOrigin(NamedTuple):
    source: str  # a hash of the URL, which may hold secrets
    validator: str  # an ETag or a date that changes whenever the bytes do
    size: int | None  # the bytes of the whole resource; `None` if unknown


class PartFile:
    """A file that is written beside its target, and replaces the target once it is complete.

    If a response has a strong validator, a note beside the part records the origin of its bytes.
    Then the part stays after a transient failure or a kill, unless it is small. On Linux the next
    download resumes it if the machine has not restarted: a restart may lose the last bytes. The
    part is locked, so no two downloads write into it.

    Args:
        path: the target.

    Raises:
        NotReady: another download into the same target is running.
        OSError: the target cannot be written; the error names the target.
    """

    def __init__(self, path: str) -> None:
        folder, name = os.path.split(path)
        if len(os.fsencode(name)) > LONGEST_NAME:
            name = sha256(os.fsencode(name)).hexdigest()
        self.path = path
        self.folder = folder or os.curdir
        self.copy = COPY.get()  # not empty in the copy of a hedge, whose part is never resumed
        self.part = os.path.join(folder, f".{name}{self.copy}.part")
        self.note = f"{self.part}.json"
        self.size = 0
        self.origin: PartOrigin | None = None  # `None` if the part cannot be resumed
        self.noted = True  # there may be a note of an earlier run
        self.committed = False
        self.process = 0
        self._file: FileIO | None = None
        self._locked = False

    def __enter__(self) -> Self:
        OPEN.add(self)
        self.process = os.getpid()
        try:
            with system.naming(self.path):
                system.check_replaceable(self.path)
                self.size = self._open()
                self.origin = self._read_note() if self.size else None
        except BaseException:
            with suppress(OSError):
                if os.fstat(self.descriptor).st_size:  # the next run may resume it
                    self._close()
            self.release()
            raise
        return self

    @property
    def descriptor(self) -> int:
        """The descriptor of the open part; -1 if it is closed."""
        return -1 if self._file is None else self._file.fileno()

    def tail(self, first: int) -> bytes:
        """Return the bytes of the part from position `first` to its end."""
        with system.naming(self.path):
            os.lseek(self.descriptor, first, os.SEEK_SET)
            return os.read(self.descriptor, self.size - first)

    def begin(self, origin: PartOrigin | None) -> None:
        """Begin anew, with bytes from `origin`, which is `None` if the part must not stay."""
        if self.size:
            self.cut(0)
        self._write_note(origin)

    def _write_note(self, origin: PartOrigin | None) -> None:
        self.origin = origin
        with system.naming(self.path):
            system.unlink(self.note)
            self.noted = False
            if origin is not None and (origin.size is None or origin.size >= WORTH_KEEPING):
                self.noted = True
                with system.opened(self.note, system.CREATE) as note:
                    system.write_all(note.fileno(), json.dumps([*origin, boot_id()]).encode())

    def cut(self, size: int) -> None:
        """Drop all but the first `size` bytes, and continue after them."""
        with system.naming(self.path):
            os.ftruncate(self.descriptor, size)
            os.lseek(self.descriptor, size, os.SEEK_SET)
        self.size = size

    def write(self, chunk: bytes) -> None:
        with system.naming(self.path):
            system.write_all(self.descriptor, chunk)
        self.size += len(chunk)

    def separate(self) -> None:
        """Copy the part into a new file if the old one has a second name or was renamed or removed.

        Raises:
            NotReady: another download has taken the name of the part.
        """
        former, descriptor = self._file, self.descriptor
        assert former is not None
        with system.naming(self.path):
            if system.is_name_of(self.part, descriptor):
                if system.is_sole(os.fstat(descriptor)):
                    return
                system.unlink(self.part)
            try:
                self.size = self._open()
            finally:
                if self._file is None:  # another download has the name: a later call tries again
                    self._file = former
            try:
                self.cut(0)
                self._write_note(self.origin)  # another download may have left one of its own
                os.lseek(descriptor, 0, os.SEEK_SET)
                system.copy_rest(descriptor, self.descriptor, lambda: None)
            finally:
                former.close()
                self.size = os.fstat(self.descriptor).st_size

    def commit(self) -> None:
        """Sync the part, which is complete, and rename it to the target; sync the rename, too."""
        with system.naming(self.path):
            os.fsync(self.descriptor)
            check_not_aborted()
            system.unlink(self.note)
            if os.name == "nt":  # Windows cannot rename an open file
                self._close()
            os.replace(self.part, self.path)
            self.committed = True
            system.sync_folder(self.folder)

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Close the part, and remove it unless it can be resumed; Ctrl-C is raised after that."""
        interrupted: KeyboardInterrupt | None = None
        while True:
            try:
                self._release()
                OPEN.discard(self)
            except KeyboardInterrupt as again:
                interrupted = again
            else:
                break
        if interrupted is not None:
            raise interrupted

    def _release(self) -> None:
        if self._file is None:
            return
        stays = not self.copy and self.origin is not None and self.size >= WORTH_KEEPING
        with suppress(OSError):
            if not self._locked:
                system.lock(self.descriptor)  # fails if it is the part of another download
            # If the open file has lost its name, a file of that name is another download's.
            if not (self.committed or stays) and system.is_name_of(self.part, self.descriptor):
                if self.noted:
                    system.unlink(self.note)
                if os.name == "nt":
                    self._close()
                system.unlink(self.part)
        self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _read_note(self) -> PartOrigin | None:
        """Return the origin of a part of an earlier run; `None` if the part cannot be resumed."""
        with suppress(OSError, ValueError, TypeError, RecursionError):
            with system.opened(self.note, system.READ) as note:
                text = note.read(LONGEST_NOTE) if system.is_sole(os.fstat(note.fileno())) else b""
            source, validator, size, boot = json.loads(text)
            texts = isinstance(source, str) and isinstance(validator, str) and is_header(validator)
            if texts and boot == boot_id() != "" and type(size) in (int, type(None)):
                return PartOrigin(source, validator, size)
        return None

    def _open(self) -> int:
        while True:
            self._locked = False
            try:
                self._file = system.opened(self.part, system.CREATE, 0o666)
            except FileExistsError:
                with suppress(FileNotFoundError):
                    if not system.is_sole(os.lstat(self.part)):
                        os.unlink(self.part)  # other users could read or change the file
                        continue
                try:
                    self._file = system.opened(self.part, system.READ)
                except FileNotFoundError:
                    continue
            try:
                system.lock(self.descriptor)
                self._locked = True
            except OSError as error:
                self._close()
                if not isinstance(error, BlockingIOError):
                    raise
                shown = printable(self.path)
                raise NotReady(f"{shown}: another download into it is running") from None
            # The process that held the lock before may have renamed or removed the file.
            status = os.fstat(self.descriptor)
            if system.is_sole(status) and system.is_name_of(self.part, self.descriptor):
                return status.st_size
            self._close()


def is_header(text: str) -> bool:
    """Return whether a request header can carry `text`."""
    return text.isascii() and text.isprintable()


OPEN: WeakSet[PartFile] = WeakSet()
"""The open parts. An event loop that is interrupted again and again abandons some parts, which
`release_all` releases at the end of the process. An unreferenced part is closed, and unlocked, by
its `FileIO`. `PartFile` has no `__del__`, because that would swallow Ctrl-C."""


@atexit.register
def release_all() -> None:
    """Release the parts that this process opened, but none that it got by a fork."""
    for part in [*OPEN]:
        if part.process == os.getpid():
            part.release()
