"""The pieces of an effect or a program, and folds over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from .._words.standard_commands import Reserve, Together
from .chains import Chain
from .steps import Guarded, Limited

A = TypeVar("A")


def pieces_of(part: Any) -> list[Any]:
    """Return `part`'s effects and programs, and its functions that make effects or programs."""
    if isinstance(part, Together):
        return list(part.effects)
    if isinstance(part, Guarded) and isinstance(part.guard, Reserve):
        return [part.guard, part.chain]
    if isinstance(part, Limited | Guarded):
        return [part.chain]
    if isinstance(part, Chain):
        return [inside for step in part.steps() for inside in step.parts()]
    return []


def parts(whole: object) -> Iterator[Any]:
    """Yield an effect or a program and all pieces inside it, each once."""
    seen: set[int] = set()
    left = [whole]
    while left:
        part = left.pop()
        if id(part) not in seen:
            seen.add(id(part))
            yield part
            left += reversed(pieces_of(part))


def folded(whole: Any, sum_up: Callable[[Any, list[A]], A]) -> A:
    """Fold a whole bottom-up: call `sum_up` with each part and the results of its pieces."""
    known: dict[int, A] = {}
    left = [whole]
    while left:  # an explicit stack: attempts can be nested a million deep
        part = left[-1]
        pieces = pieces_of(part)
        unknown = [piece for piece in pieces if id(piece) not in known]
        if unknown:
            left += unknown
            continue
        left.pop()
        if id(part) not in known:
            known[id(part)] = sum_up(part, [known[id(piece)] for piece in pieces])
    return known[id(whole)]
