"""The commands and the seconds of an effect, at most, counted without performing it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from typing import Any, NamedTuple

from .._limits.gate_base import Gate
from .._words.commands import Command
from .._words.standard_commands import WITHOUT_SERVICE, Reserve, Together
from .chains import Chain
from .folds import folded
from .program_names import function_name
from .steps import Guarded, Limited


class Commands(NamedTuple):
    """The numbers of commands by kind, as far as they are known before the run.

    Attributes:
        kinds: the greatest number of commands of each kind.
        uncounted: the names of functions whose commands are known only at run time.
    """

    kinds: Mapping[type, float]
    uncounted: frozenset[str]

    def times(self, number: float) -> Commands:
        kinds = {kind: number * count for kind, count in self.kinds.items()}
        return Commands(kinds, self.uncounted)

    def plus(self, other: Commands) -> Commands:
        if not other.kinds and not other.uncounted:
            return self
        return summed((self, other))

    def most(self, other: Commands) -> Commands:
        if self is other:
            return self
        kinds = dict(self.kinds)
        for kind, count in other.kinds.items():
            kinds[kind] = max(kinds.get(kind, 0), count)
        return Commands(kinds, self.uncounted | other.uncounted)

    def __str__(self) -> str:
        counted = [f"{count:g} {kind.__name__}" for kind, count in self.kinds.items()]
        uncounted = [f"those of {name}, known only at run time" for name in sorted(self.uncounted)]
        return ", ".join([*counted, *uncounted]) or "none"


NONE = Commands({}, frozenset())


def summed(counts: Iterable[Commands]) -> Commands:
    kinds: dict[type, float] = {}
    uncounted: set[str] = set()
    for commands in counts:
        uncounted |= commands.uncounted
        for kind, count in commands.kinds.items():
            kinds[kind] = kinds.get(kind, 0) + count
    return Commands(kinds, frozenset(uncounted))


class Cost(NamedTuple):
    """The most that one performance of an effect costs."""

    commands: Commands  # the commands that it issues
    seconds: float  # the seconds that it takes; inf if nothing limits it
    line: float = 0.0  # the part of `seconds` in which it may stand in line at gates


def unknown_cost(function: Any) -> Cost:
    return Cost(Commands({}, frozenset({function_name(function)})), inf)


def cost_of(effect: Any) -> Cost:
    """Return the most that one performance of `effect` costs.

    A limit bounds what is inside it. Two things can exceed it, and are left out: the commands that
    an attempt issues in its `finally` blocks, and what cannot be stopped, such as a plain function.
    """
    return folded(effect, cost_of_part)


def cost_of_part(part: Any, pieces: list[Cost]) -> Cost:
    kind: type = part.__class__
    commands = summed(piece.commands for piece in pieces)
    seconds: float = sum(piece.seconds for piece in pieces)
    line = sum(piece.line for piece in pieces)
    if issubclass(kind, Guarded) and isinstance(part.guard, Gate | Reserve):
        longest = part.guard.longest if isinstance(part.guard, Gate) else part.guard.line
        return Cost(commands, seconds + longest, line + longest)
    if issubclass(kind, Chain | Guarded):
        return Cost(commands, seconds, line)
    if issubclass(kind, Limited):
        limit = max(part.seconds, 0.0)
        return Cost(commands, min(limit, seconds), min(limit, line))
    if issubclass(kind, Together):
        longest = max((piece.seconds for piece in pieces), default=0.0)
        return Cost(commands, longest, max((piece.line for piece in pieces), default=0.0))
    if issubclass(kind, Command):
        one = Commands({kind: 1}, frozenset())
        return Cost(one, 0.0 if issubclass(kind, WITHOUT_SERVICE) else inf)
    return unknown_cost(part)
