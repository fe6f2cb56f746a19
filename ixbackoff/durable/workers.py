"""Workers: processes that perform runs, and how each shows that it is alive."""

from __future__ import annotations

import os
import socket
from io import TextIOWrapper
from typing import Protocol
from uuid import uuid4

from .._words.commands import Misuse


class Worker(Protocol):
    """One process that performs runs.

    Attributes:
        id: its name; runs that it has begun are recovered by it.
    """

    id: str

    def close(self) -> None:
        """Stop showing that it is alive."""


class Client:
    """A process that begins runs and performs none."""

    def __init__(self) -> None:
        self.id = f"client:{new_id()}"

    def close(self) -> None:
        """Do nothing: nobody waits for it."""


class OnFile:
    """The only worker of a file of SQLite; a lock that dies with the process says so.

    Args:
        path: the file.

    Raises:
        Misuse: another process is its worker.
    """

    id = "local"

    def __init__(self, path: str) -> None:
        from fcntl import LOCK_EX, LOCK_NB, flock

        self._lock: TextIOWrapper = open(f"{path}.worker", "w")  # noqa: SIM115
        try:
            flock(self._lock, LOCK_EX | LOCK_NB)
        except OSError:
            self._lock.close()
            raise Misuse(
                f"Another worker performs the runs in {path}: let it be the only one, begin runs "
                "with Engine(..., worker=False), or use PostgreSQL for several workers."
            ) from None

    def close(self) -> None:
        self._lock.close()


def new_id() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
