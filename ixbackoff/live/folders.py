"""Folders that are used as object stores."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Generator
from contextlib import contextmanager, suppress


@contextmanager
def swept(path: str) -> Generator[None]:
    """Remove the parts of a file that a killed process has left, before it is written anew.

    The store writes to `{name}#1`, `{name}#2` and so on, and renames the file at the end. A lock on
    the folder keeps the parts of a running process safe: each process that writes shares the lock,
    and only a process that has it alone removes parts. Where a folder cannot be locked, parts stay.
    """
    folder, name = os.path.split(path)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for left in os.listdir(folder):
                if re.fullmatch(re.escape(name) + "#[0-9]+", left):
                    os.unlink(os.path.join(folder, left))
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)
