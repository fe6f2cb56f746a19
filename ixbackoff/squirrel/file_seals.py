"""Seals of the fetched files of durable runs, and the removal of the folders of these files.

A seal is a file beside a fetched file, and records the state of the fetched file. A process checks
the seal before it uploads the fetched file, which another process may have fetched.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from .._running.boot_clock import boot_id
from ..live.file_primitives import CREATE, READ, is_sole, opened, unlink
from ..live.safe_removal import own_folder
from .fetched_files import OURS

PREFIX = ".squirrel-durable-"
"""The prefix of the name of the folder that holds the folders of all runs of one database."""
SEAL = ".seal"
LONGEST = 1000  # bytes that are read of a seal; a real one is shorter
RUN = re.compile("[a-z0-9.-]*-[0-9a-f]{12}")
"""The pattern of the id of a run, which is the name of its folder."""


class FileGone(Exception):
    """A fetched file is missing or was changed before its upload."""


def seal(path: str) -> None:
    """Record the state of a fetched file, before the journal records the fetch."""
    unlink(path + SEAL)  # `CREATE` would fail because of an old seal, or of a link planted there
    with open(os.open(path + SEAL, CREATE, 0o600), "w") as file:
        file.write(state_of(path))


def check_sealed(path: str) -> None:
    """Raise FileGone if a fetched file is missing or was changed."""
    try:
        with opened(path + SEAL, READ) as file:  # a pipe opens at once because `READ` has `O_RDWR`
            ours = is_sole(os.fstat(file.fileno()))
            same = ours and file.read(LONGEST).decode() == state_of(path)
    except (OSError, ValueError):
        same = False
    if not same:
        raise FileGone("The file that was downloaded is gone or was changed before its upload.")


def state_of(path: str) -> str:
    """Return the size of a file, its time of modification, and the id of this boot.

    After a power cut a file may have the same size but other bytes: hence the id of the boot.
    """
    found = os.stat(path)
    return f"{found.st_size} {found.st_mtime_ns} {boot_id()}"


def sweep(home: Path, is_needed: Callable[[str], bool]) -> None:
    """Remove the folders of all runs except the needed ones, and `home` if it is empty then.

    A run begins before its folder is made, and `is_needed` is called after the folders are listed.
    So `is_needed` is called only with runs that have begun.
    """
    with suppress(FileNotFoundError), own_folder(home) as opened:
        for run in opened.names(RUN):
            if not is_needed(run):
                with suppress(OSError):
                    opened.remove_inner(run, OURS)
    with suppress(OSError):
        home.rmdir()


def remove_run(home: Path, run: str) -> None:
    with suppress(OSError), own_folder(home) as opened:
        opened.remove_inner(run, OURS)
