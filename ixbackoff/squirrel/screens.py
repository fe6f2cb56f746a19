"""A terminal with bars of downloads, a line for all of them, and lines above."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import Timer

from rich.console import Console
from rich.progress import TaskID
from rich.text import Text

from .bars import Bars
from .texts import plain


class Screen:
    """What is shown on the terminal that standard error is; one thread at a time uses it.

    Args:
        overall: describes the progress of all in one line; an empty text stands for none.
        stays: true if that line stays when there are no bars.

    Attributes:
        is_terminal: true if there is a terminal.
    """

    def __init__(self, overall: Callable[[], str], stays: bool) -> None:
        self._console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        # What goes into a file stays out of the display.
        self._progress = Bars(self._console, overall, sys.stdout.isatty())
        self._stays = stays
        self._bars: dict[str, TaskID] = {}
        self._timer: Timer | None = None
        self.is_terminal = self._console.is_terminal

    def begin(self, seconds: float) -> None:
        """Show the line for all in so many seconds; `close` has to follow."""
        self._timer = Timer(seconds, self._progress.start)
        self._timer.daemon = True
        self._timer.start()

    def show(self, name: str, done: int, total: int | None) -> None:
        """Show how far a download is."""
        if name not in self._bars:
            self._progress.start()
            self._bars[name] = self._progress.add_task(plain(name), total=total)
        self._progress.update(self._bars[name], completed=done, total=total)

    def remove(self, name: str) -> None:
        """Remove the bar of a download, if it is there."""
        if (bar := self._bars.pop(name, None)) is not None:
            self._progress.refresh()
            self._progress.remove_task(bar)
            if not self._bars and not self._stays:
                self._progress.stop()

    def close(self) -> None:
        """Remove all that stays."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()  # it may be beginning to show
        for name in list(self._bars):
            self.remove(name)
        if self._progress.live.is_started:
            self._progress.stop()

    def say(self, text: str) -> None:
        """Print one line."""
        self._console.print(Text(text), soft_wrap=True)
