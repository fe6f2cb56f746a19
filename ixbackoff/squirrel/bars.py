"""Bars of downloads on a terminal, and lines above them."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TransferSpeedColumn,
)
from rich.table import Column
from rich.text import Text

from .texts import plain

LEAST = 18
BAR, NUMBERS = 20, 28
"""Columns for a name at least, for a bar, and for the numbers beside it."""


class Bars:
    """Bars on standard error, by the names of what they are for; one thread at a time."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        longest = max(self._console.width - BAR - NUMBERS, LEAST)
        shown = Column(no_wrap=True, overflow="ellipsis", max_width=longest)
        self._progress = Progress(
            TextColumn("{task.description}", markup=False, table_column=shown),
            BarColumn(BAR),
            DownloadColumn(),
            TransferSpeedColumn(),
            console=self._console,
            transient=True,
            redirect_stdout=sys.stdout.isatty(),  # what goes into a file stays out of the display
        )
        self._bars: dict[str, TaskID] = {}
        self.can_be_shown = self._console.is_terminal

    def show(self, name: str, done: int, total: int | None) -> None:
        """Show how far something is."""
        if name not in self._bars:
            self._progress.start()
            self._bars[name] = self._progress.add_task(plain(name), total=total)
        self._progress.update(self._bars[name], completed=done, total=total)

    def remove(self, name: str) -> None:
        """Remove a bar, if it is there."""
        if (bar := self._bars.pop(name, None)) is not None:
            self._progress.refresh()
            self._progress.remove_task(bar)
            if not self._bars:
                self._progress.stop()

    def clear(self) -> None:
        """Remove all bars."""
        for name in list(self._bars):
            self.remove(name)

    def say(self, text: str) -> None:
        """Print one line above them."""
        self._console.print(Text(plain(text)), soft_wrap=True)
