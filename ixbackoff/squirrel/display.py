"""The output on a terminal: waits, long downloads, the progress of all, and a table at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from threading import RLock, Timer
from time import monotonic
from typing import NamedTuple, TypeAlias

from rich.console import Console
from rich.progress import TaskID
from rich.table import Table
from rich.text import Text

from .._limits.events import Waits
from .._words.vocabulary import Delay, Download, without_secrets
from .bars import Bars
from .texts import described, fitted, plain

HIT = "hit"
COPIED = "copied"
LONG = 0.5
"""Seconds after which a download is long enough for a bar."""
WIDE = 150
"""Columns of a terminal that is wide enough for a key beside its resource."""
UNBOUNDED = 100_000
KEY = 69
PART_OF_KEY = 37
REST = 27
"""Columns for the numbers and the lines between."""
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
        self._console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._overall, self._arrived = overall, 0
        # What goes into a file stays out of the display.
        self._progress = Bars(self._console, self._told, sys.stdout.isatty())
        self._terminal = self._console.is_terminal
        self._lock = RLock()
        self._begun: dict[str, float] = {}
        self._bars: dict[str, TaskID] = {}
        self._sizes: dict[str, int] = {}
        self._said = monotonic()
        self._timer = Timer(LONG, self._progress.start)
        self._timer.daemon = True
        self.verbose = verbose

    def _told(self) -> str:
        return "" if self._overall is None else self._overall(self._arrived)

    def begin(self) -> None:
        """Show the progress of all, once that takes long; `close` has to follow."""
        if self._terminal and self._told():
            self._timer.start()

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
        failed = fitted(plain(failed), LONGEST)
        self.say(f"{failed}; on N{delay.rung} ({left} left), waiting {time}")

    def progress(self, download: Download, done: int, total: int | None) -> None:
        """Show the progress of a download, as a bar if it takes long."""
        with self._safely():
            before = self._sizes.get(download.url, done)  # what an earlier try has left
            self._arrived += max(0, done - before)
            self._sizes[download.url] = done
            if not self._terminal:
                self._say_now_and_then()
                return
            shown, now = without_secrets(download.url), monotonic()
            if now - self._begun.setdefault(shown, now) < LONG:
                return
            if shown not in self._bars:
                self._progress.start()
                self._bars[shown] = self._progress.add_task(plain(shown), total=total)
            self._progress.update(self._bars[shown], completed=done, total=total)

    def over(self, what: object) -> None:
        """Remove the bar of a resource, since it is not being downloaded any more."""
        with self._safely():
            self._begun.pop(str(what), None)
            self._sizes.pop(getattr(what, "url", ""), None)
            if (bar := self._bars.pop(str(what), None)) is not None:
                self._progress.refresh()
                self._progress.remove_task(bar)
                if not self._bars and self._overall is None:
                    self._progress.stop()
            if not self._terminal:
                self._say_now_and_then()

    def close(self) -> None:
        """Remove all bars."""
        with self._safely():
            self._timer.cancel()
            if self._timer.is_alive():  # it is beginning to show
                self._timer.join()
            for what in list(self._bars):
                self.over(what)
            if self._progress.live.is_started:
                self._progress.stop()

    def _say_now_and_then(self) -> None:
        if monotonic() - self._said >= EVERY and (told := self._told()):
            self._said = monotonic()
            self.say(told)

    def say(self, text: str) -> None:
        """Print one line."""
        with self._safely():
            self._console.print(Text(plain(text)), soft_wrap=True)

    @contextmanager
    def _safely(self) -> Generator[None]:
        with self._lock, suppress(Exception):
            yield


def show(lines: Sequence[Line]) -> None:
    """Print the closing table on standard output.

    In a narrow terminal a key is broken after its first part, and nowhere else.
    """
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = UNBOUNDED
    beside = console.width >= WIDE
    table = Table()
    width = KEY if beside else PART_OF_KEY
    first = "resource" if beside else "resource, key"
    table.add_column(first, min_width=PART_OF_KEY, overflow="fold")
    room = console.width - REST - PART_OF_KEY - (width + 3 if beside else 0)
    table.add_column("result", max_width=max(room, 6), overflow="fold")
    table.add_column("attempts")
    table.add_column("waited")
    if beside:
        table.add_column("key", no_wrap=True)
    for line in lines:
        texts = (line.resource, line.result)
        cells = [*(fitted(plain(text), LONGEST) for text in texts), str(line.attempts)]
        cells.append(f"{line.waited:.3g} s")
        if beside:
            cells.append(plain(line.key))
        elif line.key:
            name, slash, rest = plain(line.key).partition("/")
            cells[0] += f"\n{name}{slash}\n{rest}".rstrip()
        table.add_row(*map(Text, cells))
    console.print(table)
