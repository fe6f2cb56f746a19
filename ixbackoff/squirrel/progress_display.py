"""Progress on standard error: waits, long downloads, a line for all downloads, and the log."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from threading import RLock
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias

from .._limits.events import WaitBegan
from .._words.standard_commands import Delay, Download, without_secrets
from .one_line_text import described, fitted, plain
from .summary import LONGEST

if TYPE_CHECKING:
    from .progress_bars import Screen

LONG = 0.5  # seconds after which a download gets a bar
TERMINALS = frozenset({"FORCE_COLOR", "TTY_COMPATIBLE"})
"""Environment variables that can make rich take standard error for a terminal."""
EVERY = 10.0  # seconds between two lines on the progress, without a terminal

Overall: TypeAlias = Callable[[int], str]
"""A function that describes the progress of all resources, given the bytes that have arrived."""


class Display:
    """A display of the progress, on standard error, which threads share.

    It does not interpret markup, and suppresses its own errors. The text of `overall` stays on the
    terminal; without a terminal it is printed from time to time.
    """

    def __init__(self, verbose: bool = False, overall: Overall | None = None) -> None:
        self._overall, self._arrived = overall, 0
        self._screen = self._open()
        self._lock = RLock()
        self._begun: dict[str, float] = {}
        self._sizes: dict[str, int] = {}
        self._printed = monotonic()
        self.verbose = verbose

    def _open(self) -> Screen | None:
        if not (sys.stderr.isatty() or TERMINALS & os.environ.keys()):
            return None
        from .progress_bars import Screen

        screen = Screen(self._overall_text, stays=self._overall is not None)
        return screen if screen.console.is_terminal else None

    def _overall_text(self) -> str:
        return "" if self._overall is None else self._overall(self._arrived)

    def wait(self, what: object, delay: Delay | WaitBegan, rest: float | None = None) -> None:
        """Show a wait; `rest` are the remaining seconds of a wait that another process began."""
        self.over(what)
        failed = described(delay.failure).rstrip(".").split(f"{what}: ", 1)[-1]
        left = "1 wait" if delay.rung == 1 else f"{delay.rung} waits"
        time = f"{delay.seconds:g} s"
        if rest is not None:
            time = f"the rest of {time}, {rest:.3g} s"
        failed = fitted(plain(f"{what}: {failed}"), LONGEST)
        self.say(f"{failed}; on N{delay.rung} ({left} left), waiting {time}")

    def progress(self, download: Download, done: int, total: int | None) -> None:
        """Show the progress of a download, as a bar if it takes long."""
        with self._safely():
            before = self._sizes.get(download.url, done)  # an earlier try may have brought some
            self._arrived += max(0, done - before)
            self._sizes[download.url] = done
            self._show_overall()
            if self._screen is None:
                return
            shown, now = without_secrets(download.url), monotonic()
            if now - self._begun.setdefault(shown, now) >= LONG:
                self._screen.show(shown, done, total)

    def over(self, what: object) -> None:
        """Remove the bar of a resource whose download has ended."""
        with self._safely():
            self._sizes.pop(getattr(what, "url", ""), None)
            self._show_overall()
            if self._screen is not None:
                self._begun.pop(str(what), None)
                self._screen.remove(str(what))

    def close(self) -> None:
        if self._screen is not None:
            with self._safely():
                self._screen.close()

    def _show_overall(self) -> None:
        """On a terminal show the line for all resources; otherwise print it from time to time."""
        every = EVERY if self._screen is None else LONG
        if monotonic() - self._printed >= every and (text := self._overall_text()):
            self._printed = monotonic()
            if self._screen is None:
                self.say(text)
            else:
                self._screen.start()

    def say(self, text: str) -> None:
        with self._safely():
            if self._screen is None:
                print(plain(text), file=sys.stderr, flush=True)
            else:
                self._screen.say(plain(text))

    @contextmanager
    def _safely(self) -> Generator[None]:
        with self._lock, suppress(Exception):
            yield


class DisplayedLog(logging.Handler):
    """A log handler that prints on a display, above its bars."""

    def __init__(self, display: Display) -> None:
        super().__init__()
        self.display = display

    def emit(self, record: logging.LogRecord) -> None:
        if not hasattr(record, "ixbackoff_wait"):  # the display shows waits itself
            self.display.say(self.format(record))


@contextmanager
def log_shown(display: Display) -> Generator[None]:
    """Show the program's log in this block, if the display is verbose."""
    program = logging.getLogger("ixbackoff")
    level = program.level
    # without any handler, logging would print the waits to standard error a second time
    handler = DisplayedLog(display) if display.verbose else logging.NullHandler()
    program.addHandler(handler)
    if display.verbose:
        program.setLevel(logging.INFO)
    try:
        yield
    finally:
        program.removeHandler(handler)
        program.setLevel(level)
