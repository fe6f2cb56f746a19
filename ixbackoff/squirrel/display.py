"""What a person sees of the squirrel: waits, long downloads, and a table at the end."""

from __future__ import annotations

from time import monotonic
from typing import NamedTuple

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

from .._words.vocabulary import Delay, Download, without_secrets

HIT = "hit"
COPIED = "copied"
LONG = 0.5
"""Seconds after which a download is long enough for a bar."""
WIDE = 120
"""Columns of a terminal on which a key has room beside its resource."""
UNBOUNDED = 100_000
KEY = 36
REST = 27
"""Columns that the numbers and the lines between take."""


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
    """Shows what happens while it happens, on standard error.

    Args:
        verbose: whether what the program logs is to be shown, too.
    """

    def __init__(self, verbose: bool = False) -> None:
        self._console = Console(stderr=True, highlight=False)
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
        self._progress = Progress(
            *columns, TransferSpeedColumn(), console=self._console, transient=True
        )
        self._begun: dict[Download, float] = {}
        self._bars: dict[Download, TaskID] = {}
        self.verbose = verbose

    def wait(self, what: object, delay: Delay) -> None:
        """A wait begins: what failed, on which rung, how long it takes."""
        self.over()
        failed = described(delay.failure).rstrip(".")
        if str(what) not in failed:
            failed = f"{what}: {failed}"
        left = "1 wait" if delay.rung == 1 else f"{delay.rung} waits"
        self.say(f"{failed}; on N{delay.rung} ({left} left), waiting {delay.seconds:g} s")

    def progress(self, download: Download, done: int, total: int | None) -> None:
        """So many bytes of a download are done."""
        now = monotonic()
        long = now - self._begun.setdefault(download, now) >= LONG
        if not (long and self._console.is_terminal):
            return
        if download not in self._bars:
            self._progress.start()
            shown = without_secrets(download.url)
            self._bars[download] = self._progress.add_task(shown, total=total)
        self._progress.update(self._bars[download], completed=done, total=total)

    def over(self) -> None:
        """No download is running any more."""
        if self._bars:
            self._progress.stop()
        for bar in self._bars.values():
            self._progress.remove_task(bar)
        self._bars.clear()
        self._begun.clear()

    def say(self, text: str) -> None:
        """One line."""
        # An ETag comes from anywhere, and a terminal obeys control characters.
        plain = "".join(each if each.isprintable() else "?" for each in text)
        self._console.print(plain, markup=False, soft_wrap=True)


def described(failure: BaseException | None) -> str:
    """A failure in one line: its sentence, or its kind if it has none.

    >>> described(ConnectionError("no route to host")), described(KeyError(1))
    ('no route to host', 'KeyError: 1')
    """
    text, kind = " ".join(str(failure).split()), type(failure).__name__
    if " " in text:
        return text
    return f"{kind}: {text}" if text else kind


def show(lines: list[Line]) -> None:
    """The closing table, on standard output; a key stands in one piece whatever the terminal."""
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = UNBOUNDED
    beside = console.width >= WIDE
    table = Table()
    table.add_column("resource" if beside else "resource, key", min_width=KEY, overflow="fold")
    room = console.width - REST - KEY - (KEY + 3 if beside else 0)
    table.add_column("result", max_width=max(room, 6), overflow="fold")
    table.add_column("attempts")
    table.add_column("waited")
    if beside:
        table.add_column("key", no_wrap=True)
    for line in lines:
        shown = (line.resource, line.key) if beside else (f"{line.resource}\n{line.key}".strip(),)
        table.add_row(shown[0], line.result, str(line.attempts), f"{line.waited:.3g} s", *shown[1:])
    console.print(table)
