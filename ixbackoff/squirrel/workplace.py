"""Folders that are removed if they stay empty."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from .passing import sweep_old

FOLDER = ".squirrel-parts"
"""The folder for files that were not fetched to their ends, which the next run goes on with."""


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
    """Give a folder in `home` for files that are on their way, which all squirrels there share.

    At the begin and at the end, what nobody will go on with is removed.

    Raises:
        OSError: `home` cannot be written to.
    """
    with made(home):
        folder = home / FOLDER
        folder.mkdir(exist_ok=True)
        sweep_old(folder)
        try:
            yield folder
        finally:
            sweep_old(folder)
