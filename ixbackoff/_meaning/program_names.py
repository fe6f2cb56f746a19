"""Names of programs and functions, for logs, observers and errors."""

from __future__ import annotations

from functools import partial
from typing import Any

from .._words.call_commands import Calling
from .._words.commands import Command
from .._words.standard_commands import Together
from .chains import Chain, Ladder
from .folds import parts


def name_of_program(program: Chain) -> str:
    """Return the name of a program; without one, that of its first function or command."""
    given = program._name if isinstance(program, Ladder) else None
    if given is not None:
        return given
    names = (name_of_part(part) for part in parts(program))
    return next((name for name in names if name), "a program")


def name_of_part(part: Any) -> str:
    """Return the name of a function or a command; "" if it has none."""
    if isinstance(part, Calling):
        return name_of_part(part.function)
    kind: type = part.__class__
    if issubclass(kind, Together):
        return ""
    if issubclass(kind, Command):
        return kind.__name__
    if not callable(part):
        return ""
    name = function_name(part)
    return "" if name == "<lambda>" else name


def function_name(function: Any) -> str:
    """Return the name of a function, as in its source, or of the class of any other object."""
    while isinstance(function, partial):  # a partial has no name of its own
        function = function.func
    name = getattr(function, "__qualname__", None)
    if not isinstance(name, str):  # an object without a name, or a mock
        name = function.__class__.__qualname__
    return name.rpartition("<locals>.")[2]
