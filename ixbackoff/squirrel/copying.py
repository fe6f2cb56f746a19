"""Keeping a resource for real: the pipeline, with handlers for its commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from .. import Command, Delay, Interpreter, Schedule, Standard
from .._words.commands import Handler
from .._words.failures import ClientError, ServerError
from ..live import response_headers
from .commands import GenerateUUID, GetETag, Resource
from .display import COPIED, HIT, Display, Line, described
from .index import Index
from .pipeline import Kept, Row, squirrel

NO_HEADERS_ALONE = frozenset({403, 405, 501})


class Parts(NamedTuple):
    """The parts that the pipeline needs to run.

    Attributes:
        interpreter: the handlers of its commands.
        store: the URL of the object store.
        folder: the folder for temporary files.
        schedule: the lengths of the waits.
        display: the display that shows the waits.
    """

    interpreter: Interpreter[Row | Delay]
    store: str
    folder: Path
    schedule: Schedule
    display: Display


def copied(resource: Resource, parts: Parts) -> Line:
    """Keep one resource, and return its line of the table."""
    waits: list[float] = []

    def shown(command: Command[Any], handler: Handler) -> Any:
        if isinstance(command, Delay):
            waits.append(command.seconds)
            parts.display.wait(resource, command)
        return handler(command)

    program = squirrel(resource, parts.store, str(parts.folder))
    answering = parts.interpreter.around(shown)
    try:
        result, key = outcome(resource, lambda: program.run(answering, schedule=parts.schedule))
    finally:
        parts.display.over()
    return Line(str(resource), result, len(waits) + 1, sum(waits), key)


def outcome(resource: Resource, keep: Callable[[], Kept]) -> tuple[str, str]:
    """Keep a resource; return the result for the table, and the key of the object."""
    try:
        kept = keep()
    except Exception as failure:
        # The row of the table names the resource already.
        return described(failure).replace(f" {resource}:", ":"), ""
    return (HIT if kept.hit else COPIED), kept.copy.key


def answering(standard: Interpreter[Standard], index: Index) -> Interpreter[Row | Delay]:
    """Join handlers for the squirrel's own commands to those of the standard ones."""
    return (
        standard
        | GetETag.handled_by(get_etag)
        | GenerateUUID.handled_by(lambda command: command.resource.name)
        | index.interpreter
    )


def get_etag(command: GetETag) -> str | None:
    """Send a `HEAD` request; a server that does not allow those counts as one without ETags."""
    try:
        return response_headers(command.resource.url).get("etag")
    except (ClientError, ServerError) as error:
        if error.status in NO_HEADERS_ALONE:
            return None
        raise
