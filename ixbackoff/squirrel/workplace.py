"""Folders that come and go: one for files in passing, and those that nothing was put into."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

PREFIX = ".squirrel-work-"  # what begins so is removed, so it must be nobody else's name


@contextmanager
def made(folder: Path) -> Generator[Path]:
    """The folder, made if it is missing; and gone at the end if it was and is still empty.

    Raises:
        OSError: it cannot be made.
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
    """A folder in `home` of this process's own, removed at the end.

    What a killed process left behind is removed too: a workplace is locked for as long as its
    process lives.

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
