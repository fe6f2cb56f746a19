"""The output on a terminal: waits, long downloads, and a table at the end."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from threading import RLock
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from .._limits.events import Waits
from .._words.vocabulary import Delay, Download, without_secrets
from .texts import described, plain

if TYPE_CHECKING:
    from .bars import Bars

HIT = "hit"
COPIED = "copied"
LONG = 0.5
"""Seconds after which a download is long enough for a bar."""
TERMINALS = frozenset({"FORCE_COLOR", "TTY_COMPATIBLE"})
"""Variables that may say that something is a terminal, which the library of the bars looks at."""


class Line(NamedTuple):
    """A line of the closing table: the result for one resource.

    Attributes:
        resource: its URL, without secrets.
        result: "hit", "copied", or a description of the failure.
        attempts: the number of tries.
        waited: the sum of the waits between them, in seconds.
        key: the key of the object, "" if the resource is not kept.
        size: how many bytes the object has.
    """

    resource: str
    result: str
    attempts: int
    waited: float
    key: str
    size: int = 0

    @property
    def hit(self) -> bool:
        """`True` if the resource was kept already."""
        return self.result == HIT

    @property
    def kept(self) -> bool:
        """`True` if the resource is kept now."""
        return bool(self.key)


class Display:
    """A display of the progress, on standard error, which threads share.

    Nothing that it shows is markup, and none of its errors reaches those who use it.

    Args:
        verbose: show the log of the program, too.
    """

    def __init__(self, verbose: bool = False) -> None:
        self._bars = bars_if_shown()
        self._lock = RLock()
        self._begun: dict[str, float] = {}
        self.verbose = verbose

    def wait(self, what: object, delay: Delay | Waits, rest: float | None = None) -> None:
        """Show a wait: the failure before it, its rung, and its length.

        Args:
            what: what waits.
            delay: the wait.
            rest: the rest of a wait that was begun by another process.
        """
        self.over(what)
        failed = described(delay.failure).rstrip(".")
        if str(what) not in failed:
            failed = f"{what}: {failed}"
        left = "1 wait" if delay.rung == 1 else f"{delay.rung} waits"
        time = f"{delay.seconds:g} s"
        if rest is not None:
            time = f"the rest of {time}, {rest:.3g} s"
        self.say(f"{failed}; on N{delay.rung} ({left} left), waiting {time}")

    def progress(self, download: Download, done: int, total: int | None) -> None:
        """Show the progress of a download that takes long, as a bar."""
        if self._bars is None:
            return
        with self._safely():
            shown, now = without_secrets(download.url), monotonic()
            if now - self._begun.setdefault(shown, now) >= LONG:
                self._bars.show(shown, done, total)

    def over(self, what: object) -> None:
        """Remove the bar of a resource, since it is not being downloaded any more."""
        if self._bars is not None:
            with self._safely():
                self._begun.pop(str(what), None)
                self._bars.remove(str(what))

    def close(self) -> None:
        """Remove all bars."""
        if self._bars is not None:
            with self._safely():
                self._bars.clear()

    def say(self, text: str) -> None:
        """Print one line."""
        with self._safely():
            if self._bars is None:
                print(plain(text), file=sys.stderr, flush=True)
            else:
                self._bars.say(text)

    @contextmanager
    def _safely(self) -> Generator[None]:
        with self._lock, suppress(Exception):
            yield


def bars_if_shown() -> Bars | None:
    """Return bars, if standard error is a terminal or the environment may say that it is one."""
    if not (sys.stderr.isatty() or TERMINALS & os.environ.keys()):
        return None
    from .bars import Bars

    made = Bars()
    return made if made.can_be_shown else None
