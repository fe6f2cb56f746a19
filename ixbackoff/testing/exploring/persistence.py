"""A world of two layers: what was written, and what survives a power cut."""

from __future__ import annotations

from copy import deepcopy
from typing import Generic, TypeVar

T = TypeVar("T")


class Persistent(Generic[T]):
    """A part of a world that is written first, and synced later; a power cut takes the rest.

    Change `written` in handlers, call `sync` where the pipeline syncs, and `lose` in `forgets`:

    >>> from ixbackoff.testing.exploring import Persistent
    >>> disk = Persistent({"page": "old"})
    >>> disk.written["page"] = "new"
    >>> disk.lose()
    >>> disk.written
    {'page': 'old'}

    Attributes:
        written: what everybody reads.
        synced: what is there after a power cut.

    Args:
        value: what it holds at the beginning, in both layers.
    """

    def __init__(self, value: T) -> None:
        self.written = value
        self.synced = deepcopy(value)

    def sync(self) -> None:
        """Make all that was written survive."""
        self.synced = deepcopy(self.written)

    def lose(self) -> None:
        """Cut the power: what was not synced is gone."""
        self.written = deepcopy(self.synced)

    def __repr__(self) -> str:
        return f"Persistent(written={self.written!r}, synced={self.synced!r})"
