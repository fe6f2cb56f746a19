"""The kinds of commands of a program that an interpreter has no handler for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._meaning.chains import Chain, Ladder
from .._meaning.steps import Limited
from .._words.commands import AsyncInterpreter, Command, Interpreter, Misuse, without_handlers
from .._words.vocabulary import Delay, Now, Together


def name_all(
    misuse: Misuse, program: Ladder, interpreter: Interpreter[Any] | AsyncInterpreter[Any]
) -> None:
    """Name every kind without a handler in an error that names the first one.

    Only what is known before a run can be named: not what functions make, nor what attempts in
    do-notation issue.
    """
    first, misuse.unanswered = misuse.unanswered, None
    if first is None:
        return
    handlers = interpreter._handlers
    known = [first, *([Delay] if program.waits else []), *kinds_of(program)]
    missing = [kind for kind in dict.fromkeys(known) if handlers.keys().isdisjoint(kind.__mro__)]
    misuse.args = (without_handlers(missing),)


def kinds_of(program: Chain) -> Iterator[type]:
    """Go through the kinds of commands in a program, as far as they are known before it runs."""
    left: list[object] = [program]
    seen: set[int] = set()
    while left:
        one = left.pop()
        kind = type(one)
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Together):
            left += reversed(one.effects)
        elif isinstance(one, Command):
            yield kind
        elif isinstance(one, Limited):
            yield Now
            left.append(one.chain)
        elif isinstance(one, Chain):
            for step in reversed(one.steps()):
                left += [getattr(step, "known", None), getattr(step, "effect", None)]
