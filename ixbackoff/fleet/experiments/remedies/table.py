"""The remedies, as text."""

from __future__ import annotations

from collections.abc import Sequence

from .model import Remedied

HEAD = "queue  waits        remedy        asked/s  after 1 s  end/s  gave up  comes back"


def table(some: Sequence[Remedied]) -> str:
    """A table of the results of `remedied`.

    >>> print(table([]))
    queue  waits        remedy        asked/s  after 1 s  end/s  gave up  comes back
    """
    return "\n".join([HEAD, *map(row, some)])


def row(one: Remedied) -> str:
    """A line of the table."""
    return (
        f"{one.backlog:5}  {one.remedy.waits:11}  {one.remedy.name:12}  {one.asked:7.1f}  "
        f"{one.after:9.0f}  {one.last:5.1f}  {one.gave_up:7.0f}  {one.back} of {one.seeds}"
    )
