"""Keeping resources for real: the pipeline, with the real parts that answer its commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from .. import Command, Delay, Interpreter, Schedule, Standard
from .._words.commands import Handler
from .._words.failures import ClientError, ServerError
from ..live import response_headers
from .commands import GenerateUUID, GetETag, Resource
from .display import COPIED, HIT, Display, Line, described
from .index import Index
from .pipeline import Row, squirrel

NO_HEADERS_ALONE = frozenset({403, 405, 501})


class Parts(NamedTuple):
    """The real parts that a copy goes through.

    Attributes:
        interpreter: answers the squirrel's commands.
        store: the URL of the object store.
        folder: for files in passing.
        schedule: how long the waits are.
        display: who is told of them.
    """

    interpreter: Interpreter[Row | Delay]
    store: str
    folder: Path
    schedule: Schedule
    display: Display


def copied(resource: Resource, parts: Parts) -> Line:
    """Keep one resource; what became of it."""
    waits: list[float] = []

    def shown(command: Command[Any], handler: Handler) -> Any:
        if isinstance(command, Delay):
            waits.append(command.seconds)
            parts.display.wait(resource, command)
        return handler(command)

    program = squirrel(resource, parts.store, str(parts.folder))
    try:
        kept = program.run(parts.interpreter.around(shown), schedule=parts.schedule)
        result, key = (HIT if kept.hit else COPIED), kept.copy.key
    except Exception as failure:
        # Its row names the resource already.
        result, key = described(failure).replace(f" {resource}:", ":"), ""
    finally:
        parts.display.over()
    return Line(str(resource), result, len(waits) + 1, sum(waits), key)


def answering(standard: Interpreter[Standard], index: Index) -> Interpreter[Row | Delay]:
    """Who answers the squirrel's commands: the standard ones as given, its own for real."""
    return (
        standard
        | GetETag.handled_by(get_etag)
        | GenerateUUID.handled_by(lambda command: command.resource.name)
        | index.interpreter
    )


def get_etag(command: GetETag) -> str | None:
    """Ask the origin; one that refuses to be asked for headers alone gives no ETag."""
    try:
        return response_headers(command.resource.url).get("etag")
    except (ClientError, ServerError) as error:
        if error.status in NO_HEADERS_ALONE:
            return None
        raise
