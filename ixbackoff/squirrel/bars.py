"""Bars of downloads that fit the terminal, and a line for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TransferSpeedColumn,
)
from rich.table import Column
from rich.text import Text

from .texts import fitted

BAR, NUMBERS, PERCENT = 20, 28, 5
"""Columns of a bar, of the numbers beside it, and of a percentage."""
WIDE = BAR + NUMBERS + 20
"""Columns of a terminal that is wide enough for all of them."""


class Name(ProgressColumn):
    """A column for the names of downloads.

    Args:
        console: the terminal.
        rest: the columns that the others take.
    """

    max_refresh = None

    def __init__(self, console: Console, rest: int) -> None:
        super().__init__(Column(no_wrap=True))
        self._console = console
        self._rest = rest

    def render(self, task: Task) -> Text:
        return Text(fitted(task.description, max(self._console.width - self._rest, 8)))


class Bars(Progress):
    """A display of downloads that takes no more room than the terminal has.

    Args:
        console: the terminal.
        overall: describes the progress of all in one line; an empty text stands for none.
        redirects: true if what is printed on the standard output goes above it.
    """

    def __init__(self, console: Console, overall: Callable[[], str], redirects: bool) -> None:
        self._terminal, self._overall = console, overall
        bar = BarColumn(BAR)
        self._wide = Name(console, BAR + NUMBERS), bar, DownloadColumn(), TransferSpeedColumn()
        self._narrow = Name(console, PERCENT), TaskProgressColumn()
        super().__init__(console=console, transient=True, redirect_stdout=redirects)

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield what is shown now."""
        self.columns = self._wide if self._terminal.width >= WIDE else self._narrow
        tasks, told = self.tasks, self._overall()
        room = max(self._terminal.height - 2, 1)
        if len(tasks) > room and told:
            told = f"{told}; {len(tasks) - room} more downloads"
        yield self.make_tasks_table(tasks[:room])
        if told:
            yield Text(fitted(told, self._terminal.width))
