"""A folder for files in passing, which is gone afterwards, also after a crash."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

PREFIX = "work-"


@contextmanager
def workplace(home: Path) -> Iterator[Path]:
    """A folder in `home` of this process's own, removed at the end.

    What a killed process left behind is removed too: a workplace is locked for as long as its
    process lives.

    Raises:
        OSError: `home` cannot be written to.
    """
    home.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        with _locked(home):
            folder = Path(mkdtemp(prefix=PREFIX, dir=home))
            held.enter_context(_locked(folder))
            for other in home.glob(f"{PREFIX}*"):
                if other != folder:
                    with suppress(BlockingIOError), _locked(other, fcntl.LOCK_NB):
                        shutil.rmtree(other)
        try:
            yield folder
        finally:
            shutil.rmtree(folder)


@contextmanager
def _locked(folder: Path, how: int = 0) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | how)
        yield
    finally:
        os.close(descriptor)
