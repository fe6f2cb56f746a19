"""The output on a terminal: waits, long downloads, the progress of all, and a table at the end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from threading import RLock
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from .._limits.events import WaitBegan
from .._words.vocabulary import Delay, Download, without_secrets
from .texts import described, fitted, plain

if TYPE_CHECKING:
    from .screens import Screen

HIT = "hit"
COPIED = "copied"
LONG = 0.5
"""Seconds after which a download is long enough for a bar."""
TERMINALS = frozenset({"FORCE_COLOR", "TTY_COMPATIBLE"})
"""Variables that may say that something is a terminal, which the library of the bars looks at."""
EVERY = 10.0
"""Seconds between two lines on the progress where there is no terminal."""
LONGEST = 1_000
"""Cells of the longest text in a line, and in a cell of the table."""

Overall: TypeAlias = Callable[[int], str]
"""A function that describes the progress of all, given the bytes that have arrived."""


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
        overall: describes the progress of all, for a line that stays on the terminal; without a
            terminal it is printed now and then.
    """

    def __init__(self, verbose: bool = False, overall: Overall | None = None) -> None:
        self._overall, self._arrived = overall, 0
        self._screen = self._opened()
        self._lock = RLock()
        self._begun: dict[str, float] = {}
        self._sizes: dict[str, int] = {}
        self._said = monotonic()
        self.verbose = verbose

    def _opened(self) -> Screen | None:
        """Return what shows bars, if standard error is a terminal."""
        if not (sys.stderr.isatty() or TERMINALS & os.environ.keys()):
            return None
        from .screens import Screen

        screen = Screen(self._told, stays=self._overall is not None)
        return screen if screen.is_terminal else None

    def _told(self) -> str:
        return "" if self._overall is None else self._overall(self._arrived)

    def begin(self) -> None:
        """Show the progress of all, once that takes long; `close` has to follow."""
        if self._screen is not None and self._told():
            self._screen.begin(LONG)

    def wait(self, what: object, delay: Delay | WaitBegan, rest: float | None = None) -> None:
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
        failed = fitted(plain(failed), LONGEST)
        self.say(f"{failed}; on N{delay.rung} ({left} left), waiting {time}")

    def progress(self, download: Download, done: int, total: int | None) -> None:
        """Show the progress of a download, as a bar if it takes long."""
        with self._safely():
            before = self._sizes.get(download.url, done)  # what an earlier try has left
            self._arrived += max(0, done - before)
            self._sizes[download.url] = done
            if self._screen is None:
                self._say_now_and_then()
                return
            shown, now = without_secrets(download.url), monotonic()
            if now - self._begun.setdefault(shown, now) >= LONG:
                self._screen.show(shown, done, total)

    def over(self, what: object) -> None:
        """Remove the bar of a resource, since it is not being downloaded any more."""
        with self._safely():
            self._sizes.pop(getattr(what, "url", ""), None)
            if self._screen is None:
                self._say_now_and_then()
            else:
                self._begun.pop(str(what), None)
                self._screen.remove(str(what))

    def close(self) -> None:
        """Remove all bars."""
        if self._screen is not None:
            with self._safely():
                self._screen.close()

    def _say_now_and_then(self) -> None:
        if monotonic() - self._said >= EVERY and (told := self._told()):
            self._said = monotonic()
            self.say(told)

    def say(self, text: str) -> None:
        """Print one line."""
        with self._safely():
            if self._screen is None:
                print(plain(text), file=sys.stderr, flush=True)
            else:
                self._screen.say(plain(text))

    @contextmanager
    def _safely(self) -> Generator[None]:
        with self._lock, suppress(Exception):
            yield
