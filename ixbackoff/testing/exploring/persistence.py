"""The parts of a world that survive a power cut only once they are synced."""

from __future__ import annotations

from copy import deepcopy
from typing import Generic, TypeVar

T = TypeVar("T")


class Persistent(Generic[T]):
    """A part of a world with a written and a synced value; a power cut loses the written one.

    Change `written` in handlers, call `sync` where real handlers sync, and `lose` in `forgets`:

    >>> from ixbackoff.testing.exploring import Persistent
    >>> disk = Persistent({"page": "old"})
    >>> disk.written["page"] = "new"
    >>> disk.lose()
    >>> disk.written
    {'page': 'old'}

    Attributes:
        written: the value that handlers read and change.
        synced: the value after a power cut.

    Args:
        value: the initial value of `written` and of `synced`.
    """

    def __init__(self, value: T) -> None:
        self.written = value
        self.synced = deepcopy(value)

    def sync(self) -> None:
        """Make the written value survive a power cut."""
        self.synced = deepcopy(self.written)

    def lose(self) -> None:
        """Cut the power: changes since the last `sync` are lost."""
        self.written = deepcopy(self.synced)

    def __repr__(self) -> str:
        return f"Persistent(written={self.written!r}, synced={self.synced!r})"
