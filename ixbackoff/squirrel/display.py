"""The output on a terminal: waits, long downloads, and a table at the end."""

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

from .._limits.events import Waits
from .._words.vocabulary import Delay, Download, without_secrets

HIT = "hit"
COPIED = "copied"
LONG = 0.5
"""Seconds after which a download is long enough for a bar."""
WIDE = 120
"""Columns of a terminal that is wide enough for a key beside its resource."""
UNBOUNDED = 100_000
KEY = 36
REST = 27
"""Columns for the numbers and the lines between."""


class Line(NamedTuple):
    """A line of the closing table: the result for one resource.

    Attributes:
        resource: its URL, without secrets.
        result: "hit", "copied", or a description of the failure.
        attempts: the number of tries.
        waited: the sum of the waits between them, in seconds.
        key: the key of the object, "" if the resource is not kept.
    """

    resource: str
    result: str
    attempts: int
    waited: float
    key: str

    @property
    def hit(self) -> bool:
        """`True` if the resource was kept already."""
        return self.result == HIT

    @property
    def kept(self) -> bool:
        """`True` if the resource is kept now."""
        return bool(self.key)


class Display:
    """A display of the progress, on standard error.

    Args:
        verbose: show the log of the program, too.
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

    def wait(self, what: object, delay: Delay | Waits, rest: float | None = None) -> None:
        """Show a wait: the failure before it, its rung, and its length.

        Args:
            what: what waits.
            delay: the wait.
            rest: the rest of a wait that was begun by another process.
        """
        self.over()
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
        """Remove all bars, since no download is running any more."""
        if self._bars:
            self._progress.stop()
        for bar in self._bars.values():
            self._progress.remove_task(bar)
        self._bars.clear()
        self._begun.clear()

    def say(self, text: str) -> None:
        """Print one line."""
        # A server may have put control characters into an ETag, and a terminal would obey them.
        plain = "".join(each if each.isprintable() else "?" for each in text)
        self._console.print(plain, markup=False, soft_wrap=True)


def described(failure: BaseException | None) -> str:
    """Describe a failure in one line: by its sentence, or by its class if it has none.

    >>> described(ConnectionError("no route to host")), described(KeyError(1))
    ('no route to host', 'KeyError: 1')
    """
    text, kind = " ".join(str(failure).split()), type(failure).__name__
    if " " in text:
        return text
    return f"{kind}: {text}" if text else kind


def show(lines: list[Line]) -> None:
    """Print the closing table on standard output; no key is broken, however narrow the terminal."""
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
