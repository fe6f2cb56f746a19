"""Keeping a resource for real: the pipeline, with handlers for its commands."""

from __future__ import annotations

import os
from collections.abc import Callable, MutableMapping
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import Delay, Interpreter, NotReady, Schedule, Standard, Upload
from .._words.commands import Handler
from .._words.failures import ClientError, ServerError
from ..live import response_headers
from ..live.connections import Connections
from ..live.objects import objects_below, remove_object
from ..live.uploads import upload
from .commands import Fetch, GetETag, ListObjects, Remove, Resource, Stored
from .display import COPIED, HIT, Display, Line
from .index import Index
from .origins import Budgets
from .passing import Passing
from .pipeline import Kept, Places, Row, squirrel
from .texts import ended

if TYPE_CHECKING:
    from obstore.store import ObjectStore

NO_HEADERS_ALONE = frozenset({403, 405, 501})


class Parts(NamedTuple):
    """The parts that the pipeline needs to run.

    Attributes:
        interpreter: the handlers of its commands.
        places: the places that resources pass.
        passing: the files that are on their way.
        schedule: the lengths of the waits.
        within: the seconds that each resource has.
        budgets: those that further tries are taken from.
        stop: an event that ends all waits.
        display: the display that shows the waits.
    """

    interpreter: Interpreter[Row | Delay]
    places: Places
    passing: Passing
    schedule: Schedule
    within: float
    budgets: Budgets
    stop: Event
    display: Display


def copied(resource: Resource, parts: Parts) -> Line:
    """Keep one resource, and return its line of the table."""
    waits: list[float] = []

    def shown(command: Any, handler: Handler) -> Any:
        waits.append(command.seconds)
        parts.passing.leave(resource)
        parts.display.wait(resource, command)
        return handler(command)

    program = squirrel(resource, parts.places)
    waiting = Delay.handled_as_in(parts.interpreter).around(shown)
    answering = parts.interpreter | waiting

    def keep() -> Kept:
        with parts.budgets.of(resource) as budget:
            return program.run(
                answering,
                schedule=parts.schedule,
                within=parts.within,
                budget=budget,
                stop=parts.stop,
            )

    line = Line(str(resource), "", 0, 0.0, "")
    try:
        line = outcome(resource, keep)
    finally:
        parts.display.over(resource)
        parts.passing.release(resource, parts.places.folder, line.kept)
    return line._replace(attempts=len(waits) + 1, waited=sum(waits))


def outcome(resource: Resource, keep: Callable[[], Kept]) -> Line:
    """Keep a resource; return its line of the table, but for its tries and waits."""
    try:
        copy, hit = keep()
    except Exception as failure:
        # The row of the table names the resource already.
        told = ended(failure).replace(f" {resource}:", ":")
        return Line(str(resource), told, 0, 0.0, "")
    return Line(str(resource), HIT if hit else COPIED, 0, 0.0, copy.key, copy.size)


class Handlers(NamedTuple):
    """The handlers of the squirrel's own commands, but for those that are about the index.

    Attributes:
        connections: the connections to web servers.
        stores: object stores by the beginnings of their URLs.
        passing: the files that are on their way.
        has: returns whether a resource is or was kept, or some of it was fetched already.
    """

    connections: Connections
    stores: MutableMapping[str, ObjectStore]
    passing: Passing
    has: Callable[[Resource], bool] = lambda _: True

    def get_etag(self, command: GetETag) -> str | None:
        """Send a `HEAD` request, or a `GET` request if the answer to that will be needed, anyway.

        A server that does not allow `HEAD` counts as one without ETags.
        """
        if not self.has(command.resource):
            return self.passing.ask(command.resource)
        try:
            headers = response_headers(command.resource.url, connections=self.connections)
            return headers.get("etag")
        except (ClientError, ServerError) as error:
            if error.status in NO_HEADERS_ALONE:
                return None
            raise

    def list_objects(self, command: ListObjects) -> tuple[Stored, ...]:
        name = command.resource.name
        url = f"{command.store}/{name}"
        found = objects_below(url, self.stores, self.connections.limits)
        return tuple(Stored(f"{name}/{key}", size) for key, size in sorted(found.items()))

    def upload(self, command: Upload) -> None:
        """Upload a file; in a store on the same disk one that was fetched becomes the object.

        Raises:
            NotReady: its folder, which was empty, was removed by another squirrel meanwhile.
            Exception: the same failures as `Upload`, in the same cases.
        """
        given = self.passing.gives(command.path)
        try:
            upload(command, self.stores, self.connections.limits, given=given)
        except FileNotFoundError:
            if command.url.startswith("file:") and os.path.exists(command.path):
                raise NotReady("another squirrel has removed the folder of the object") from None
            raise

    def remove(self, command: Remove) -> None:
        url = f"{command.store}/{command.key}"
        remove_object(url, self.stores, self.connections.limits)


def answering(
    standard: Interpreter[Standard], index: Index, handlers: Handlers
) -> Interpreter[Row | Delay]:
    """Join handlers for the squirrel's own commands to those of the standard ones."""
    return (
        standard
        | Upload.handled_by(handlers.upload)
        | GetETag.handled_by(handlers.get_etag)
        | ListObjects.handled_by(handlers.list_objects)
        | Fetch.handled_by(handlers.passing.fetch)
        | Remove.handled_by(handlers.remove)
        | index.interpreter
    )
