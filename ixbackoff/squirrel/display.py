"""What a person sees of the squirrel: waits, long downloads, and a table at the end."""

from __future__ import annotations

from time import monotonic
from types import TracebackType
from typing import NamedTuple, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TransferSpeedColumn,
)
from rich.table import Table

from ..vocabulary import Delay, Download, without_secrets

HIT = "hit"
COPIED = "copied"
LONG = 0.5
"""Seconds after which a download is long enough for a bar."""


class Line(NamedTuple):
    """What became of one resource.

    Attributes:
        resource: its URL, as it may be shown.
        result: "hit", "copied", or what failed.
        attempts: how often it was tried.
        waited: seconds waited between them.
        key: the object's key, "" if it is not kept.
    """

    resource: str
    result: str
    attempts: int
    waited: float
    key: str

    @property
    def hit(self) -> bool:
        """Whether the resource was kept already."""
        return self.result == HIT

    @property
    def kept(self) -> bool:
        """Whether the resource is kept now."""
        return bool(self.key)


class Display:
    """Shows what happens while it happens, on standard error; a context manager."""

    def __init__(self) -> None:
        console = Console(stderr=True, highlight=False)
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
        self._progress = Progress(
            *columns, TransferSpeedColumn(), console=console, transient=True, redirect_stdout=False
        )
        self._begun: dict[Download, float] = {}
        self._bars: dict[Download, TaskID] = {}

    def wait(self, resource: object, delay: Delay) -> None:
        """A wait begins: what failed, on which rung, how long it takes."""
        left = "1 wait" if delay.rung == 1 else f"{delay.rung} waits"
        self.say(
            f"{resource}: {described(delay.failure)}; "
            f"on N{delay.rung} ({left} left), waiting {delay.seconds:g} s"
        )

    def progress(self, download: Download, done: int, total: int | None) -> None:
        """So many bytes of a download are done."""
        now = monotonic()
        if now - self._begun.setdefault(download, now) < LONG:
            return
        if download not in self._bars:
            shown = without_secrets(download.url)
            self._bars[download] = self._progress.add_task(shown, total=total)
        self._progress.update(self._bars[download], completed=done, total=total)

    def over(self) -> None:
        """No download is running any more."""
        for bar in self._bars.values():
            self._progress.remove_task(bar)
        self._bars.clear()
        self._begun.clear()

    def say(self, text: str) -> None:
        """One line."""
        self._progress.console.print(text, markup=False, soft_wrap=True)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._progress.stop()


def described(failure: BaseException | None) -> str:
    """A failure in one line."""
    return f"{type(failure).__name__}: {failure}" if str(failure) else type(failure).__name__


def show(lines: list[Line]) -> None:
    """The closing table, on standard output."""
    table = Table("resource", "result", "attempts", "waited", "key")
    for line in lines:
        table.add_row(
            line.resource, line.result, str(line.attempts), f"{line.waited:.3g} s", line.key
        )
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = 200
    console.print(table)
