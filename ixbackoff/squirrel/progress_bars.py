"""A terminal with a bar for each long download and a line for all; texts are printed above them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TaskProgressColumn,
    TransferSpeedColumn,
)
from rich.table import Column
from rich.text import Text

from .one_line_text import fitted, plain

BAR, NUMBERS, PERCENT = 20, 28, 5
"""Columns of a bar, of the numbers beside it, and of a percentage."""
WIDE = BAR + NUMBERS + 20  # the columns of a terminal with room for a name beside bar and numbers


class Screen(Progress):
    """The terminal of standard error; callers use it in one thread at a time.

    The line for all downloads is the text of `overall`. If `stays`, the line outlasts the last bar.
    The columns fit the terminal.
    """

    def __init__(self, overall: Callable[[], str], stays: bool) -> None:
        terminal = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._terminal = terminal  # `get_renderables` is called before `console` exists
        self._overall = overall
        self._stays = stays
        self._bars: dict[str, TaskID] = {}
        bar = BarColumn(BAR)
        self._wide = Name(terminal, BAR + NUMBERS), bar, DownloadColumn(), TransferSpeedColumn()
        self._narrow = Name(terminal, PERCENT), TaskProgressColumn()
        # rich would print standard output on the terminal even if it goes to a file or a pipe
        redirects = sys.stdout.isatty()
        super().__init__(console=terminal, transient=True, redirect_stdout=redirects)

    def show(self, name: str, done: int, total: int | None) -> None:
        if name not in self._bars:
            self.start()
            self._bars[name] = self.add_task(plain(name), total=total)
        self.update(self._bars[name], completed=done, total=total)

    def remove(self, name: str) -> None:
        if (bar := self._bars.pop(name, None)) is not None:
            self.refresh()
            self.remove_task(bar)
            if not self._bars and not self._stays:
                self.stop()

    def close(self) -> None:
        """Remove all bars and the line."""
        if self.live.is_started:
            self.stop()

    def say(self, text: str) -> None:
        self.console.print(Text(text), soft_wrap=True)

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield the bars that fit, and the line for all downloads."""
        self.columns = self._wide if self._terminal.width >= WIDE else self._narrow
        tasks, text = self.tasks, self._overall()
        room = max(self._terminal.height - 2, 1)
        if len(tasks) > room and text:
            text = f"{text}; {len(tasks) - room} more downloads"
        yield self.make_tasks_table(tasks[:room])
        if text:
            yield Text(fitted(text, self._terminal.width))


class Name(ProgressColumn):
    """A column for the names of downloads; the other columns are `rest` cells wide."""

    max_refresh = None

    def __init__(self, console: Console, rest: int) -> None:
        super().__init__(Column(no_wrap=True))
        self._console = console
        self._rest = rest

    def render(self, task: Task) -> Text:
        return Text(fitted(task.description, max(self._console.width - self._rest, 8)))
