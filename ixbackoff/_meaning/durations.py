"""The seconds that a try may take, as far as its limits bound them."""

from __future__ import annotations

from math import inf
from typing import Any

from .._words.commands import Command
from .._words.vocabulary import Log, Now, Pick, Throw, Together
from .chains import Chain
from .pieces import folded
from .steps import Guarded, Limited

INSTANT = (Log, Now, Pick, Throw)
"""The commands that ask no service, so they are taken to need no time."""


def seconds_of(effect: Any) -> float:
    """The seconds that one performance of `effect` takes at most; inf if nothing limits it.

    A limit bounds what is inside it. Commands that an attempt issues in its `finally` blocks come
    on top, and so does what cannot be ended, such as a plain function.

    >>> from ixbackoff import Download, Log, all_of, do
    >>> page = Download("http://localhost/a", "a")
    >>> seconds_of(page), seconds_of(do(page).limit(5)), seconds_of(Log("ready"))
    (inf, 5.0, 0.0)
    >>> seconds_of(do(page).limit(5).or_else(do(page).limit(2)))
    7.0
    >>> seconds_of(all_of(do(page).limit(5), do(page).limit(2)))
    5.0
    """
    return folded(effect, seconds_of_part)


def seconds_of_part(part: Any, pieces: list[float]) -> float:
    """The seconds of a part, given those of its pieces."""
    if isinstance(part, Limited):
        return min(max(part.seconds, 0.0), sum(pieces))
    if isinstance(part, Together):
        return max(pieces, default=0.0)
    if isinstance(part, Chain | Guarded):
        return float(sum(pieces))
    return 0.0 if isinstance(part, Command) and isinstance(part, INSTANT) else inf
