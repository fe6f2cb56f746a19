"""Squirrels with a mistake: `python -m tests.support.kills.mutated MISTAKE WORDS...`.

They show that whoever checks what squirrels keep notices it when they do not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from ixbackoff import Command, Upload, attempt
from ixbackoff._words.commands import Handler
from ixbackoff.squirrel import fetched_files, handlers, keep_all, pipeline
from ixbackoff.squirrel.commands import ListObjects, Swap
from ixbackoff.squirrel.handlers import Handlers
from ixbackoff.squirrel.index import Index
from ixbackoff.squirrel.squirrel_command import main


@attempt
def not_cleared(*_: object) -> Any:
    return
    yield


def leave_what_the_dead_have_left() -> None:
    patch.object(pipeline, "cleared", not_cleared).start()


def leave_files() -> None:
    patch.object(fetched_files.FetchedFiles, "release", lambda *_: None).start()


def sync_nothing() -> None:
    patch("os.fsync", lambda _: None).start()


class Everything(tuple[Any, ...]):
    """Objects of which each is there that anybody asks for."""

    __slots__ = ()

    def __contains__(self, _: object) -> bool:
        return True


def record_before_the_upload() -> None:
    """Record what is not there yet, and take what is recorded for what is there."""
    usual = handlers.answering

    def answering(index: Index, ours: Handlers) -> Any:
        uploads: dict[str, tuple[Command[Any], Handler]] = {}

        def around(command: Command[Any], handler: Handler) -> Any:
            if isinstance(command, Upload):
                uploads[command.url] = command, handler
                return None
            answer = handler(command)
            if isinstance(command, ListObjects):
                return Everything(answer)
            if isinstance(command, Swap):
                (url,) = [url for url in uploads if url.endswith(command.copy.key)]
                upload, put = uploads.pop(url)
                put(upload)
            return answer

        return usual(index, ours).around(around)

    patch.object(keep_all, "answering", answering).start()


MISTAKES: dict[str, Callable[[], None]] = {
    "what the dead have left is not removed": leave_what_the_dead_have_left,
    "nothing is synced": sync_nothing,
    "files on their way are left": leave_files,
    "the record comes before the object, and hits are not looked at": record_before_the_upload,
}

if __name__ == "__main__":
    MISTAKES[sys.argv[1]]()
    sys.exit(main(sys.argv[2:]))
