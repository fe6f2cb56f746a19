"""Folders that serve as object stores."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Generator
from contextlib import contextmanager, suppress


@contextmanager
def swept(path: str) -> Generator[None]:
    """While a file of a folder store is written: what a killed process has left of it goes.

    The store writes to `{name}#1`, `{name}#2` and so on, and renames. So as not to touch what
    another process is just writing, the folder is locked: shared by those who write into it, and
    swept by one who has it to itself. Where a folder cannot be locked, nobody sweeps.
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
