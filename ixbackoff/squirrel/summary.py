"""The summary of a command: a line for each resource, and their totals."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Event
from time import monotonic
from typing import NamedTuple

from .one_line_text import amount, fitted, plain

HIT = "hit"
COPIED = "copied"
LONGEST = 1_000
"""The greatest width of a text in the table, or on the display, in cells of a terminal."""
WIDE = 150  # the columns of a terminal that is wide enough for a key beside its resource
UNBOUNDED = 100_000
KEY = 69
PART_OF_KEY = 37
REST = 27  # columns for the numbers and the borders


class SummaryLine(NamedTuple):
    resource: str  # its URL, without secrets
    result: str  # "hit", "copied", or a description of the failure
    tries: int = 0
    wait_seconds: float = 0.0  # the sum of the waits between the tries
    key: str = ""  # the key of the object; empty if the resource is not kept
    size: int = 0

    @property
    def kept(self) -> bool:
        return bool(self.key)


@dataclass
class Summary:
    """The lines of resources, printed in a table at the end or one by one, and their totals."""

    stop: Event = field(default_factory=Event)  # set to end all waits; later failures are ignored
    table: bool = True  # otherwise each line is printed immediately
    total: int | None = None  # `None` if unknown
    copied: int = 0
    hits: int = 0
    failed: int = 0
    size: int = 0  # the bytes of the new copies
    begun: float = field(default_factory=monotonic)
    _lines: dict[int, SummaryLine] = field(default_factory=dict[int, SummaryLine])

    def take(self, number: int, line: SummaryLine) -> None:
        if not line.kept:
            if self.stop.is_set():
                return
            self.failed += 1
        elif line.result == HIT:
            self.hits += 1
        else:
            self.copied += 1
            self.size += line.size
        if self.table:
            self._lines[number] = line
        else:
            seconds = f"{line.wait_seconds:.3g}"
            cells = (line.result, line.resource, line.tries, seconds, line.key)
            sys.stdout.write("\t".join([plain(str(cell)) for cell in cells]) + "\n")
            sys.stdout.flush()

    def progress(self, arrived: int) -> str:
        """Describe the progress of several resources in one line, after `arrived` bytes.

        >>> Summary(total=300, copied=11, failed=1, begun=monotonic() - 10.0).progress(10**6)
        '12 of 300 (1 failed), 1 MB, 100 kB/s'
        """
        if self.total == 1:  # the bar of the download shows the same
            return ""
        done = f"{self.copied + self.hits + self.failed}"
        done += " done" if self.total is None else f" of {self.total}"
        failed = f" ({self.failed} failed)" if self.failed else ""
        rate = arrived / max(monotonic() - self.begun, 1e-9)
        return f"{done}{failed}, {amount(arrived)}, {amount(rate)}/s"

    @property
    def well(self) -> bool:
        return not self.failed

    def end(self) -> None:
        """Print the table, if there is one, and the totals."""
        if not self.copied + self.hits + self.failed:
            return
        if self.table:
            show([line for _, line in sorted(self._lines.items())])
        seconds = monotonic() - self.begun
        rate = amount(self.size / max(seconds, 1e-9))
        print(
            f"copied: {self.copied} ({amount(self.size)}); hits: {self.hits}; failed: "
            f"{self.failed}; {seconds:.3g} s, {rate}/s"
        )
        sys.stdout.flush()


def show(lines: Sequence[SummaryLine]) -> None:
    """Print the table on standard output.

    In a narrow terminal a key takes two lines, and is broken after its first part.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

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
    table.add_column("tries")
    table.add_column("waited")
    if beside:
        table.add_column("key", no_wrap=True)
    for line in lines:
        texts = (line.resource, line.result)
        cells = [*(fitted(plain(text), LONGEST) for text in texts), str(line.tries)]
        cells.append(f"{line.wait_seconds:.3g} s")
        if beside:
            cells.append(plain(line.key))
        elif line.key:
            name, slash, rest = plain(line.key).partition("/")
            cells[0] += f"\n{name}{slash}\n{rest}".rstrip()
        table.add_row(*map(Text, cells))
    console.print(table)
