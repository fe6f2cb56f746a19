"""The report of a command: what became of each resource, and the sum of it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from threading import Event
from time import monotonic

from .display import Line
from .texts import amount, plain


@dataclass
class Report:
    """Takes the lines of resources, and prints them: in a table at the end, or one by one.

    Once `stop` is set it takes no failures, since it is the interruption that has caused them.

    Args:
        stop: set when all is to end.
        table: true to keep all lines for a table; false to print each at once, and keep none.
        total: how many resources there are, if that is known.

    Attributes:
        copied: how many resources were copied.
        hits: how many were kept already.
        failed: how many are not kept.
        size: the bytes of the copies that were made.
    """

    stop: Event = field(default_factory=Event)
    table: bool = True
    total: int | None = None
    copied: int = 0
    hits: int = 0
    failed: int = 0
    size: int = 0
    begun: float = field(default_factory=monotonic)
    _lines: dict[int, Line] = field(default_factory=dict[int, Line])

    def take(self, number: int, line: Line) -> None:
        """Take the line of the resource with this number."""
        if not line.kept:
            if self.stop.is_set():
                return
            self.failed += 1
        elif line.hit:
            self.hits += 1
        else:
            self.copied += 1
            self.size += line.size
        if self.table:
            self._lines[number] = line
        else:
            cells = (line.result, line.resource, line.attempts, f"{line.waited:.3g}", line.key)
            sys.stdout.write("\t".join([plain(str(cell)) for cell in cells]) + "\n")
            sys.stdout.flush()

    def so_far(self, arrived: int) -> str:
        """Describe the progress of several in one line, given the bytes that have arrived.

        >>> Report(total=300, copied=11, failed=1, begun=monotonic() - 10.0).so_far(10**6)
        '12 of 300 (1 failed), 1 MB, 100 kB/s'
        """
        if self.total == 1:  # its own bar says as much
            return ""
        done = f"{self.copied + self.hits + self.failed}"
        done += " done" if self.total is None else f" of {self.total}"
        failed = f" ({self.failed} failed)" if self.failed else ""
        rate = arrived / max(monotonic() - self.begun, 1e-9)
        return f"{done}{failed}, {amount(arrived)}, {amount(rate)}/s"

    @property
    def lines(self) -> list[Line]:
        """The lines that were kept for the table, in the order of the resources."""
        return [self._lines[number] for number in sorted(self._lines)]

    @property
    def well(self) -> bool:
        """`True` if all resources are kept."""
        return not self.failed

    def end(self) -> None:
        """Print the table, and the sum."""
        if not self.copied + self.hits + self.failed:
            return
        if self.table:
            from .tables import show

            show(self.lines)
        seconds = monotonic() - self.begun
        rate = amount(self.size / max(seconds, 1e-9))
        print(
            f"copied: {self.copied} ({amount(self.size)}); hits: {self.hits}; failed: "
            f"{self.failed}; {seconds:.3g} s, {rate}/s"
        )
        sys.stdout.flush()
