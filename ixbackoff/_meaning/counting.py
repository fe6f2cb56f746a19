"""The commands of an effect, counted by kind without performing it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .._words.calls import Calling
from .._words.commands import Command
from .._words.vocabulary import Together
from .chains import Chain
from .steps import Do, Limited, OrElse, Start, Then


class Commands(NamedTuple):
    """Commands by kind, and what only the run tells.

    Attributes:
        kinds: from a kind of command to how many there are at most.
        untold: the names of functions whose commands are not among them.
    """

    kinds: Mapping[type[Command[Any]], int]
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
        kinds = dict(self.kinds)
        for kind, count in other.kinds.items():
            kinds[kind] = kinds.get(kind, 0) + count
        return Commands(kinds, self.untold | other.untold)

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


def told(name: str) -> Commands:
    """The commands of a function that only the run tells."""
    return Commands({}, frozenset({name}))


def commands_of(effect: Any) -> Commands:
    """The commands that one performance of `effect` issues at most.

    An attempt in do-notation and the function of a `.then` tell theirs only when they run.

    >>> from ixbackoff import Download, Log, do
    >>> print(commands_of(do(Log("begin")).or_else(Download("http://localhost/a", "a"))))
    1 Log, 1 Download
    """
    kinds: dict[type[Command[Any]], int] = {}
    untold: set[str] = set()
    left = [effect]
    while left:  # an explicit stack: attempts can be nested a million deep
        one = left.pop()
        if isinstance(one, Together):
            left += reversed(one.effects)
        elif isinstance(one, Command):
            kinds[one.__class__] = kinds.get(one.__class__, 0) + 1
        elif isinstance(one, Limited):
            left.append(one.chain)
        elif isinstance(one, Chain):
            left += [step.effect for step in reversed(one.steps()) if isinstance(step, Do | OrElse)]
            untold.update(
                named(step.function) for step in one.steps() if isinstance(step, Start | Then)
            )
        else:
            untold.add(one.__class__.__name__)
    return Commands(kinds, frozenset(untold))


def named(function: Any) -> str:
    """The name of a function, as a reader knows it."""
    if isinstance(function, Calling):
        return repr(function)
    name: str = getattr(function, "__qualname__", repr(function))
    return name.rpartition("<locals>.")[2]
