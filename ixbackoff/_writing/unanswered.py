"""The kinds of commands of a program that an interpreter has no handler for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._meaning.chains import Ladder
from .._meaning.pieces import parts
from .._meaning.steps import Guarded, Limited
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
    known = [first, *([Delay] if program.may_wait else []), *kinds_of(program)]
    missing = [kind for kind in dict.fromkeys(known) if handlers.keys().isdisjoint(kind.__mro__)]
    misuse.args = (without_handlers(missing),)


def kinds_of(program: Ladder) -> Iterator[type]:
    """Go through the kinds of commands in a program, as far as they are known before it runs."""
    for part in parts(program):
        kind: type = part.__class__
        if kind in (Limited, Guarded):
            yield Now
        elif issubclass(kind, Command) and kind is not Together:
            yield kind
