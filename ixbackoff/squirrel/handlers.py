"""Handlers of the squirrel's own commands."""

from __future__ import annotations

import os
from collections.abc import Callable, MutableMapping
from typing import TYPE_CHECKING, NamedTuple

from .. import Delay, Interpreter, NotReady, Upload
from .._words.failure_classes import ClientError, ServerError
from ..live import live, response_headers
from ..live.connections import Connections
from ..live.list_and_remove import objects_below, remove_object
from ..live.resumable_downloads import etag_of
from ..live.uploads import upload
from .commands import Fetch, GetETag, ListObjects, Remove, Resource, Stored
from .fetched_files import FetchedFiles
from .index import Index
from .pipeline import Row

if TYPE_CHECKING:
    from obstore.store import ObjectStore

HEAD_REFUSED = frozenset({403, 405, 501})


class Handlers(NamedTuple):
    """The handlers of the squirrel's own commands, except for those of the index."""

    connections: Connections
    stores: MutableMapping[str, ObjectStore]  # by the prefixes of their URLs
    files: FetchedFiles
    has: Callable[[Resource], bool] = lambda _: True  # whether a copy or a fetched file exists

    def get_etag(self, command: GetETag) -> str | None:
        """Send a `HEAD` request, or a `GET` request if the body is needed in any case.

        A server that refuses `HEAD` is treated as a server without ETags.
        """
        if not self.has(command.resource):
            return self.files.ask(command.resource)
        try:
            headers = response_headers(command.resource.url, connections=self.connections)
            return etag_of(headers)
        except (ClientError, ServerError) as error:
            if error.status in HEAD_REFUSED:
                return None
            raise

    def list_objects(self, command: ListObjects) -> tuple[Stored, ...]:
        name = command.resource.name
        url = f"{command.store}/{name}"
        found = objects_below(url, self.stores, self.connections.limits)
        return tuple(Stored(f"{name}/{key}", size) for key, size in sorted(found.items()))

    def upload(self, command: Upload) -> None:
        """Upload a file; a store in a folder may make a hard link to a complete fetched file."""
        unchanging = self.files.is_complete(command.path)
        try:
            upload(command, self.stores, self.connections.limits, unchanging=unchanging)
        except FileNotFoundError:
            if command.url.startswith("file:") and os.path.exists(command.path):
                raise NotReady("another squirrel has removed the folder of the object") from None
            raise

    def remove(self, command: Remove) -> None:
        url = f"{command.store}/{command.key}"
        remove_object(url, self.stores, self.connections.limits)


def answering(index: Index, handlers: Handlers) -> Interpreter[Row | Delay]:
    return (
        live(connections=handlers.connections, stores=handlers.stores)
        | Upload.handled_by(handlers.upload)
        | GetETag.handled_by(handlers.get_etag)
        | ListObjects.handled_by(handlers.list_objects)
        | Fetch.handled_by(handlers.files.fetch)
        | Remove.handled_by(handlers.remove)
        | index.interpreter
    )
