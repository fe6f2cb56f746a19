"""The table that is printed at the end."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .display import LONGEST, Line
from .texts import fitted, plain

WIDE = 150
"""Columns of a terminal that is wide enough for a key beside its resource."""
UNBOUNDED = 100_000
KEY = 69
PART_OF_KEY = 37
REST = 27
"""Columns for the numbers and the lines between."""


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
