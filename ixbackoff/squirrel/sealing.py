"""Seals of files that outlive their process: each durable run has a folder for its file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from .._running.boots import boot_id

PREFIX = ".squirrel-durable-"  # folders that begin so are removed by `sweep` alone
SEAL = ".seal"


class FileGone(Exception):
    """A file that was downloaded before its process died is no longer there, or not the same."""


def seal(path: str) -> None:
    """Note the state of a file that was downloaded, before anybody is told that it was."""
    Path(path + SEAL).write_text(state_of(path))


def check_sealed(path: str) -> None:
    """Check that a file is the one that was downloaded.

    Raises:
        FileGone: it is not.
    """
    try:
        same = Path(path + SEAL).read_text() == state_of(path)
    except FileNotFoundError:
        same = False
    if not same:
        raise FileGone("The file that was downloaded is gone or was changed before its upload.")


def state_of(path: str) -> str:
    """Return the size of a file, when it was written, and since when the machine runs.

    After a power cut a file may have its size and not its bytes.
    """
    found = os.stat(path)
    return f"{found.st_size} {found.st_mtime_ns} {boot_id()}"


def sweep(home: Path, needed: Callable[[str], bool]) -> None:
    """Remove the folders of all runs but those that are needed; `home` too if it gets empty.

    The folders are listed before anybody is asked: a run is begun before its folder is made.
    """
    with suppress(FileNotFoundError):
        for folder in list(home.iterdir()):
            if not needed(folder.name):
                shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        home.rmdir()
