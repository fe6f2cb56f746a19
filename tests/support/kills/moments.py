"""A squirrel that is killed: `python -m tests.support.kills.moments FOLDER MOMENTS WORDS...`.

It runs the squirrel's command line once for each moment, in the folder FOLDER/MOMENT, in a process
that kills itself at that moment. `{moment}` in the words is replaced by the moment. Moments are
numbers (0 before the first command, 1 after it, 2 before the second, and so on), or `download` for
one in the middle of a download, `link` or `copy` for one in the middle of an upload of either kind.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import obstore.store  # noqa: F401

from ixbackoff import Command, Delay, Interpreter, Now
from ixbackoff._words.commands import Handler
from ixbackoff.live import pooled_transports, uploads
from ixbackoff.squirrel import handlers as own_handlers
from ixbackoff.squirrel.handlers import Handlers
from ixbackoff.squirrel.index import Index
from ixbackoff.squirrel.pipeline import Row
from ixbackoff.squirrel.squirrel_command import main

PIECE = 2**14  # bytes, so that a small file has many
LATE = 12  # pieces
LINK = os.link


class Moments:
    """A counter of the moments of a run that does something at one of them."""

    def __init__(self, chosen: int | None, act: Callable[[], None]) -> None:
        self.chosen = chosen
        self.act = act
        self.passed = 0

    def answering(self, index: Index, handlers: Handlers) -> Interpreter[Row | Delay]:
        """Answer as the squirrel's function of this name, and count the moments."""
        return own_handlers.answering(index, handlers).around(self.around)

    def around(self, command: Command[Any], handler: Handler) -> Any:
        if isinstance(command, Now):
            return handler(command)
        self.next()
        answer = handler(command)
        self.next()
        return answer

    def next(self) -> None:
        if self.passed == self.chosen:
            self.act()
        self.passed += 1


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def linked_and_killed(source: str, path: str) -> None:
    LINK(source, path)
    kill()


def progress(_display: object, _download: object, done: int, _total: int | None) -> None:
    if done:
        kill()


def prepare(moment: str) -> None:
    """Let the squirrel be killed at this moment."""
    if moment == "download":
        patch("ixbackoff.squirrel.progress_display.Display.progress", progress).start()
    elif moment == "link":
        patch("os.link", linked_and_killed).start()
    elif moment == "copy":
        pieces = Moments(LATE, kill)
        patch("ixbackoff.live.folders.link", lambda *_: False).start()
        patch("ixbackoff.live.file_primitives.PIECE", PIECE).start()
        patch(
            "ixbackoff.squirrel.handlers.upload",
            lambda command, stores, limits, unchanging: uploads.upload(
                command, stores, limits, pieces.next, unchanging
            ),
        ).start()
    else:
        answering = Moments(int(moment), kill).answering
        patch("ixbackoff.squirrel.keep_all.answering", answering).start()


def killed(folder: Path, moment: str, words: list[str]) -> bool:
    process = os.fork()
    if process == 0:
        prepare(moment)
        named = [word.replace("{moment}", moment) for word in words]
        main([*named, "--folder", str(folder / moment)])
        os._exit(0)
    _, status = os.waitpid(process, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


if __name__ == "__main__":
    _, where, moments, *all_words = sys.argv
    pooled_transports.trusted()  # what takes long is done once, before the processes part
    for each in moments.split(","):
        if not killed(Path(where), each, all_words):
            sys.exit(f"The squirrel was not killed at {each}.")
