"""The kinds of commands in a program for which an interpreter has no handler."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .._meaning.chains import Ladder
from .._meaning.folds import parts
from .._meaning.steps import Guarded, Limited
from .._words.commands import AsyncInterpreter, Command, Interpreter, Misuse, without_handlers
from .._words.standard_commands import Delay, Now, Together


def name_all(
    misuse: Misuse, program: Ladder, interpreter: Interpreter[Any] | AsyncInterpreter[Any]
) -> None:
    """Extend an error about the first unhandled command: name all kinds without a handler.

    The commands that functions make, and those of attempts in do-notation, are not known here.
    """
    first, misuse.unanswered = misuse.unanswered, None
    if first is None:
        return
    handlers = interpreter._handlers
    known = [first, *([Delay] if program.may_wait else []), *kinds_of(program)]
    missing = [kind for kind in dict.fromkeys(known) if handlers.keys().isdisjoint(kind.__mro__)]
    misuse.args = (without_handlers(missing),)


def kinds_of(program: Ladder) -> Iterator[type]:
    for part in parts(program):
        kind: type = part.__class__
        if kind in (Limited, Guarded):
            yield Now
        elif issubclass(kind, Command) and kind is not Together:
            yield kind
