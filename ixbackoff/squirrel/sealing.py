"""Seals of fetched files that outlive their process, each in the folder of its durable run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from .._running.boots import boot_id

PREFIX = ".squirrel-durable-"
"""The beginning of the names of folders that only `sweep` empties."""
SEAL = ".seal"


class FileGone(Exception):
    """A file that was fetched before its process died is missing or was changed."""


def seal(path: str) -> None:
    """Record the state of a fetched file, before the journal records that it was fetched."""
    Path(path + SEAL).write_text(state_of(path))


def check_sealed(path: str) -> None:
    """Check that a file is the one that was fetched.

    Raises:
        FileGone: the file is missing or was changed.
    """
    try:
        same = Path(path + SEAL).read_text() == state_of(path)
    except FileNotFoundError:
        same = False
    if not same:
        raise FileGone("The file that was downloaded is gone or was changed before its upload.")


def state_of(path: str) -> str:
    """Return the size of a file, its time of modification, and the id of this boot.

    The id is part of it because after a power cut a file may have its size but not its bytes.
    """
    found = os.stat(path)
    return f"{found.st_size} {found.st_mtime_ns} {boot_id()}"


def sweep(home: Path, is_needed: Callable[[str], bool]) -> None:
    """Remove the folders of all runs except the needed ones; `home` too if it gets empty.

    The folders are listed before `is_needed` is called: a run begins before its folder is made.
    """
    with suppress(FileNotFoundError):
        for folder in list(home.iterdir()):
            if not is_needed(folder.name):
                shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        home.rmdir()
