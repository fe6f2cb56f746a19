"""The commands of an effect, counted by kind without performing it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from .._words.commands import Command
from .._words.vocabulary import Together
from .chains import Chain
from .names import function_name
from .pieces import folded
from .steps import Guarded, Limited


class Commands(NamedTuple):
    """Commands by kind, and what only the run tells.

    Attributes:
        kinds: from a kind of command to how many there are at most.
        untold: the names of functions whose commands are not among them.
    """

    kinds: Mapping[type, float]
    untold: frozenset[str]

    def times(self, number: int) -> Commands:
        """As many of them, so many times."""
        if number == 1 or not self.kinds:
            return self
        return Commands({kind: number * count for kind, count in self.kinds.items()}, self.untold)

    def plus(self, other: Commands) -> Commands:
        """These, and the others after them."""
        if not other.kinds and not other.untold:
            return self
        return together((self, other))

    def most(self, other: Commands) -> Commands:
        """The most of either, kind by kind."""
        if self is other:
            return self
        kinds = dict(self.kinds)
        for kind, count in other.kinds.items():
            kinds[kind] = max(kinds.get(kind, 0), count)
        return Commands(kinds, self.untold | other.untold)

    def __str__(self) -> str:
        counted = [f"{count:g} {kind.__name__}" for kind, count in self.kinds.items()]
        untold = [f"those of {name}, which only the run tells" for name in sorted(self.untold)]
        return ", ".join([*counted, *untold]) or "none"


NONE = Commands({}, frozenset())


def only_the_run_tells(name: str) -> Commands:
    """The commands of a function that only the run tells."""
    return Commands({}, frozenset({name}))


def commands_of(effect: Any) -> Commands:
    """The commands that one performance of `effect` issues at most.

    An attempt in do-notation and the function of a `.then` tell theirs only when they run.

    >>> from ixbackoff import Download, Log, do
    >>> print(commands_of(do(Log("begin")).or_else(Download("http://localhost/a", "a"))))
    1 Log, 1 Download
    """
    return folded(effect, lambda part, pieces: together(pieces).plus(alone(part)))


def alone(part: Any) -> Commands:
    """The commands of a part without those of its pieces."""
    kind: type = part.__class__
    if issubclass(kind, Chain | Limited | Guarded | Together):
        return NONE
    return (
        Commands({kind: 1}, frozenset())
        if issubclass(kind, Command)
        else only_the_run_tells(function_name(part))
    )


def together(several: Iterable[Commands]) -> Commands:
    """All of them, one after the other."""
    kinds: dict[type, float] = {}
    untold: set[str] = set()
    for one in several:
        untold |= one.untold
        for kind, count in one.kinds.items():
            kinds[kind] = kinds.get(kind, 0) + count
    return Commands(kinds, frozenset(untold))
