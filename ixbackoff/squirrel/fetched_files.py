"""Files of resources between their download and their upload, and the folder for them."""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from time import time
from uuid import uuid4

from .._words.failure_classes import NotReady
from .._words.standard_commands import Download
from ..live.connections import Connections
from ..live.exchanges import Exchange, Progress
from ..live.limits import Deadline
from ..live.part_files import PartFile
from ..live.resumable_downloads import Arrival, Fetched
from ..live.safe_removal import own_folder
from ..live.web_requests import OpenResponse, complete
from .commands import Brought, Fetch, Resource

FOLDER = ".squirrel-parts"  # for unfinished downloads, which the next command resumes
OLD = 7 * 86_400.0  # seconds after which an unused file is removed
TRIES = 5
PRIVATE = "~"  # in the name of a file that only one process uses; `sweep_old` removes leftovers
UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
OURS = re.compile(rf"\.{UUID}({PRIVATE}[0-9a-f]{{32}})?\.part(\.json|\.seal)?")
"""The pattern of the names of files in this folder; no other file is removed."""


@dataclass
class FetchedFile:
    """A file that is open and locked."""

    part: PartFile
    resumable: bool  # whether another process may resume its download
    fetched: Fetched | None = None  # the ETag and the size, once the file is complete


class FetchedFiles:
    """The files of resources, open and locked until their programs have ended.

    The lock keeps other processes from writing to a file and from removing it. If a program
    succeeds, its file is removed. If it fails, the file stays if a later run in the same folder can
    resume the download.
    """

    def __init__(self, connections: Connections, progress: Progress | None = None) -> None:
        self._connections = connections
        self._progress = progress
        self._lock = Lock()
        self._files: dict[tuple[str, str], FetchedFile] = {}
        self._responses: dict[str, OpenResponse] = {}

    def has(self, resource: Resource, folder: str) -> bool:
        """Return whether a resource has a file, perhaps of an earlier command."""
        return (folder, resource.name) in self._files or bool(self._left_of(resource, folder))

    def _left_of(self, resource: Resource, folder: str) -> list[str]:
        """Return the files of a resource that earlier commands left in a folder."""
        left = PartFile(os.path.join(folder, resource.name))
        return [path for path in (left.part, left.note) if os.path.lexists(path)]

    def ask(self, resource: Resource) -> str | None:
        """Request a resource, and return its ETag; `fetch` in the same thread reads the body."""
        self.abandon(resource)
        response = OpenResponse(self._exchange(resource), self._connections)
        self._responses[resource.name] = response
        return response.etag

    def abandon(self, resource: Resource) -> None:
        """Close the response that `ask` opened, if `fetch` has not read it."""
        response = self._responses.pop(resource.name, None)
        if response is not None:
            response.close()

    def fetch(self, command: Fetch) -> Brought:
        """Fetch the missing bytes of a resource; fail as `Download` does."""
        resource, folder = command.resource, command.folder
        file = self._of(resource, folder)
        done = file.fetched
        if done is None or command.etag is None or done.etag != command.etag:
            file.fetched = None
            file.part.separate()  # the store may have a hard link to the file
            response = self._responses.get(resource.name)
            if response is not None and (
                response.etag != command.etag or file.part.origin is not None
            ):
                self.abandon(resource)
            response = self._responses.pop(resource.name, None)
            exchange = self._exchange(resource) if response is None else response.exchange
            shown = Download(resource.url, file.part.part)
            arrival = Arrival(shown, exchange, file.part, self._progress)
            done = file.fetched = complete(arrival, self._connections, response)
        return Brought(file.part.part, done.etag, done.size)

    def _exchange(self, resource: Resource) -> Exchange:
        limits = self._connections.limits
        return Exchange("GET", resource.url, limits, Deadline(limits))

    def is_complete(self, path: str) -> bool:
        """Return whether `path` is a resource's complete file; a hard link to it never changes."""
        with self._lock:
            paths = [file.part.part for file in self._files.values() if file.fetched is not None]
        return path in paths

    def release(self, resource: Resource, folder: str, kept: bool) -> None:
        """Close a file; remove it if it is private or `kept` is true: no later run needs it."""
        self.abandon(resource)
        with self._lock:
            file = self._files.pop((folder, resource.name), None)
        if file is not None:
            if kept or not file.resumable:
                file.part.origin = None
            else:
                with suppress(OSError, NotReady):  # if this fails, a later run begins anew
                    file.part.separate()
            file.part.release()
        elif kept:  # an earlier run may have died before it removed its file
            for path in self._left_of(resource, folder):
                with suppress(OSError), own_folder(folder) as opened:
                    opened.remove_unlocked(os.path.basename(path))

    def _of(self, resource: Resource, folder: str) -> FetchedFile:
        key = (folder, resource.name)
        file = self._files.get(key)
        if file is None:
            file = open_file(folder, resource.name)
            with self._lock:
                self._files[key] = file
        return file


def open_file(folder: str, name: str) -> FetchedFile:
    """Open the shared file of a resource; if another process uses it, open a private file."""
    resumable = True
    for _ in range(TRIES):
        path = os.path.join(folder, name if resumable else f"{name}{PRIVATE}{uuid4().hex}")
        try:
            with own_folder(folder):
                return FetchedFile(PartFile(path).__enter__(), resumable)
        except NotReady:  # another squirrel uses or removes the file
            resumable = False
        except FileNotFoundError:  # another squirrel has removed the folder, which was empty
            os.makedirs(folder, exist_ok=True)
    raise NotReady(f"{folder}: other processes open and remove files there all the time")


@contextmanager
def made(folder: Path) -> Generator[Path]:
    """Make a folder and its missing parents; after the block, remove the new ones if empty."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
    finally:
        for path in missing:
            with suppress(OSError):
                path.rmdir()


@contextmanager
def fetching_folder(home: Path) -> Generator[Path]:
    """Yield the folder in `home` for unfinished downloads, which all squirrels there share.

    Old files are removed at the beginning and at the end of the block.
    """
    with made(home):
        folder = home / FOLDER
        with suppress(FileExistsError):
            folder.mkdir()
        with suppress(FileNotFoundError):  # another squirrel has removed it
            sweep_old(folder)
        try:
            yield folder
        finally:
            with suppress(OSError):
                sweep_old(folder)


def sweep_old(folder: Path) -> None:
    """Remove the unused files that are old or private, and the folder if it is empty then."""
    with own_folder(folder) as opened:
        for name in opened.names(OURS):
            with suppress(OSError):
                if PRIVATE in name or opened.age_of(name, time()) > OLD:
                    opened.remove_unlocked(name)
    with suppress(OSError):
        folder.rmdir()
