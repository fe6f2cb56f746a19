"""The files of resources between their download and their upload."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from time import time
from uuid import uuid4

from .._words.failures import NotReady
from .._words.vocabulary import Download
from ..live.arrivals import Arrival, Fetched
from ..live.connections import Connections
from ..live.exchanges import Exchange, Progress
from ..live.files import READ, PartFile, belongs, stands
from ..live.http import Begun, arrive
from ..live.locks import lock
from ..live.times import Deadline
from .commands import Brought, Fetch, Resource
from .processors import Processors

OLD = 7 * 86_400.0
"""Seconds after which a file that nobody has gone on with is removed."""
TRIES = 5
PRIVATE = "~"
"""A mark in the names of files of one process alone, which the next one removes."""


@dataclass
class Held:
    """A file that is open and locked.

    Attributes:
        part: the file.
        lasting: true if another process may go on with it.
        fetched: what came with its bytes, once they are all there.
        apart: true if the thread that has it has left the processor of the others.
    """

    part: PartFile
    lasting: bool
    fetched: Fetched | None = None
    apart: bool = False


class Passing:
    """Files that are fetched, and stay open and locked until their programs have ended.

    Nobody else writes into such a file meanwhile, or removes it. When a program was well, its file
    is removed; otherwise it stays, if it can be gone on with, for a later run in the same folder.

    Args:
        connections: the connections to web servers.
        progress: told how far downloads are.
        early: true if the files will be synced, as those for a store on this machine.
        processors: those of this process; large files are fetched on any of them.
    """

    def __init__(
        self,
        connections: Connections,
        progress: Progress | None = None,
        early: bool = False,
        processors: Processors | None = None,
    ) -> None:
        self._processors = processors or Processors()
        self._connections = connections
        self._progress = progress
        self._early = early
        self._lock = Lock()
        self._held: dict[tuple[str, str], Held] = {}
        self._begun: dict[str, Begun] = {}
        self._left = "", frozenset[str]()

    def has(self, resource: Resource, folder: str) -> bool:
        """Return whether some of a resource was fetched, and may be gone on with."""
        return (folder, resource.name) in self._held or bool(self._left_of(resource, folder))

    def _left_of(self, resource: Resource, folder: str) -> list[str]:
        """Return the files of a resource that were there when this folder was first asked for."""
        if self._left[0] != folder:
            self._left = folder, frozenset(os.listdir(folder) if os.path.isdir(folder) else ())
        left = PartFile(os.path.join(folder, resource.name))
        return [path for path in (left.part, left.note) if os.path.basename(path) in self._left[1]]

    def ask(self, resource: Resource) -> str | None:
        """Ask for a resource, and return its ETag; its body is for `fetch`, in the same thread.

        Raises:
            Exception: the same failures as `Download`, in the same cases.
        """
        self.leave(resource)
        begun = Begun(self._exchange(resource), self._connections)
        self._begun[resource.name] = begun
        return begun.etag

    def leave(self, resource: Resource) -> None:
        """Leave the body that was asked for, if it was not fetched."""
        begun = self._begun.pop(resource.name, None)
        if begun is not None:
            begun.close()

    def fetch(self, command: Fetch) -> Brought:
        """Fetch what is missing of a resource.

        Raises:
            Exception: the same failures as `Download`, in the same cases.
        """
        resource, folder = command.resource, command.folder
        held = self._of(resource, folder)
        done = held.fetched
        if done is None or command.etag is None or done.etag != command.etag:
            if done is not None:
                held.fetched = None
                held.part.separate()  # it may have become an object
            begun = self._begun.get(resource.name)
            if begun is not None and (begun.etag != command.etag or held.part.origin is not None):
                self.leave(resource)
            begun = self._begun.pop(resource.name, None)
            exchange = self._exchange(resource) if begun is None else begun.exchange
            shown = Download(resource.url, held.part.part)
            arrival = Arrival(shown, exchange, held.part, self._progress)
            size = None if begun is None else begun.size
            held.apart = held.apart or self._processors.leave(size)
            done = held.fetched = arrive(arrival, self._connections, begun)
        return Brought(held.part.part, done.etag, done.size)

    def _exchange(self, resource: Resource) -> Exchange:
        limits = self._connections.limits
        return Exchange("GET", resource.url, limits, Deadline(limits))

    def gives(self, path: str) -> bool:
        """Return whether a file is one of these, and whole; it never changes then."""
        with self._lock:
            whole = [held.part.part for held in self._held.values() if held.fetched is not None]
        return path in whole

    def release(self, resource: Resource, folder: str, kept: bool) -> None:
        """Let go of the file of a resource, since its program has ended.

        Args:
            resource: the resource.
            folder: the folder of the file.
            kept: true if the file is not needed any more.
        """
        self.leave(resource)
        with self._lock:
            held = self._held.pop((folder, resource.name), None)
        if held is not None:
            if kept or not held.lasting:
                held.part.origin = None
            else:
                with suppress(OSError, NotReady):  # then a later run begins anew
                    held.part.separate()
            held.part.__exit__(None, None, None)
            if held.apart:
                self._processors.rejoin()
        elif kept:  # an earlier run may have died after all was done
            for path in self._left_of(resource, folder):
                with suppress(OSError):
                    remove_unlocked(Path(path))

    def _of(self, resource: Resource, folder: str) -> Held:
        key = (folder, resource.name)
        held = self._held.get(key)
        if held is None:
            held = opened(folder, resource.name, self._early)
            with self._lock:
                self._held[key] = held
        return held


def opened(folder: str, name: str, early: bool = False) -> Held:
    """Open the file that an earlier run has left, or another one if somebody is using that.

    Args:
        folder: the folder for it.
        name: the name of the resource.
        early: as for `PartFile`.

    Raises:
        OSError: the folder cannot be written to.
    """
    lasting = True
    for _ in range(TRIES):
        path = os.path.join(folder, name if lasting else f"{name}{PRIVATE}{uuid4().hex}")
        try:
            return Held(PartFile(path, early).__enter__(), lasting)
        except NotReady:  # another squirrel has it, or looks whether somebody has
            lasting = False
        except FileNotFoundError:  # another squirrel has removed the folder, since it was empty
            os.makedirs(folder, exist_ok=True)
    raise NotReady(f"{folder}: others open and remove files there all the time")


def sweep_old(folder: Path) -> None:
    """Remove files that nobody uses: old ones, and those that nobody can go on with."""
    with suppress(OSError):
        for path in list(folder.iterdir()):
            with suppress(OSError):
                if PRIVATE in path.name or path.stat().st_mtime < time() - OLD:
                    remove_unlocked(path)
    with suppress(OSError):
        folder.rmdir()


def remove_unlocked(path: Path) -> None:
    """Remove a file of this user, unless a process has locked it.

    Raises:
        OSError: a process has, or it cannot be removed.
    """
    with open(os.open(path, READ), "rb") as file:
        descriptor = file.fileno()
        lock(descriptor)
        if belongs(os.fstat(descriptor)) and stands(descriptor, str(path)):
            if os.name == "nt":  # there a file that is open cannot be removed
                file.close()
            path.unlink()
