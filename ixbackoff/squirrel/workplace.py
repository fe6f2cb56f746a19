"""Temporary folders, and folders that are removed if they stay empty."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

PREFIX = ".squirrel-work-"  # folders that begin so are removed, so nobody else may use it


@contextmanager
def made(folder: Path) -> Generator[Path]:
    """Make a folder if it is missing; at the end, remove it again if it is empty.

    Raises:
        OSError: the folder cannot be made.
    """
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
    finally:
        for place in missing:
            with suppress(OSError):
                place.rmdir()


@contextmanager
def workplace(home: Path) -> Generator[Path]:
    """Make a folder in `home` for this process alone, and remove it at the end.

    Folders of killed processes are removed, too: a folder is locked while its process lives.

    Raises:
        OSError: `home` cannot be written to.
    """
    with made(home), ExitStack() as held:
        with _locked(home):
            folder = Path(mkdtemp(prefix=PREFIX, dir=home))
            held.enter_context(_locked(folder))
            for other in home.glob(f"{PREFIX}*"):
                if other != folder:
                    with suppress(OSError), _locked(other, fcntl.LOCK_NB):
                        shutil.rmtree(other)
        try:
            yield folder
        finally:
            shutil.rmtree(folder)


@contextmanager
def _locked(folder: Path, how: int = 0) -> Generator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | how)
        yield
    finally:
        os.close(descriptor)
