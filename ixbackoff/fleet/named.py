"""What a command line names of the user's: MODULE:NAME."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import Any

from .._commandline import imported
from .._meaning.chains import Ladder
from .._words.commands import AsyncInterpreter, Interpreter
from ..schedules.kinds import Timing


def program(text: str) -> Any:
    """A program, or a function that makes one of the number of a client."""
    named = imported(text)
    if not isinstance(named, Ladder) and not callable(named):
        raise ArgumentTypeError(f"{text} is no program, but {named!r}")
    return named


def timing(text: str) -> Timing:
    """A schedule, or one that shortens."""
    named = imported(text)
    if not isinstance(named, Timing):
        raise ArgumentTypeError(f"{text} is no schedule, but {named!r}")
    return named


def interpreter(text: str) -> Interpreter[Any]:
    """Who gives answers."""
    named: Interpreter[Any] = imported(text)
    given: object = named
    if isinstance(given, AsyncInterpreter):
        raise ArgumentTypeError(f"{text} awaits: give an interpreter of handled_by(...) alone")
    if not isinstance(given, Interpreter):
        raise ArgumentTypeError(f"{text} is no interpreter, but {named!r}")
    return named
