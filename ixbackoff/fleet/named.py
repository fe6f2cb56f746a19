"""Things of the user that a command line names, as MODULE:NAME."""

from __future__ import annotations

from argparse import ArgumentTypeError
from typing import Any

from .._commandline import imported
from .._meaning.chains import Ladder
from .._words.commands import AsyncInterpreter, Interpreter
from ..schedules.kinds import Timing


def program(text: str) -> Any:
    """Return the program or decorated function that is named, or a function from client to one."""
    named = imported(text)
    if not isinstance(named, Ladder) and not callable(named):
        raise ArgumentTypeError(f"{text} is not a program, but {named!r}")
    return named


def timing(text: str) -> Timing:
    """Return the schedule that is named; it may be one that shortens waits."""
    named = imported(text)
    if not isinstance(named, Timing):
        raise ArgumentTypeError(f"{text} is not a schedule, but {named!r}")
    return named


def interpreter(text: str) -> Interpreter[Any]:
    """Return the interpreter that is named."""
    named: Interpreter[Any] = imported(text)
    given: object = named
    if isinstance(given, AsyncInterpreter):
        raise ArgumentTypeError(f"{text} awaits: give an interpreter of handled_by(...) alone")
    if not isinstance(given, Interpreter):
        raise ArgumentTypeError(f"{text} is not an interpreter, but {named!r}")
    return named
