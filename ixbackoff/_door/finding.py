"""The user's programs, schedules and interpreters, which the command line names as MODULE:NAME."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError
from inspect import Parameter, iscoroutinefunction, signature
from typing import Any, NamedTuple

from .._commandline import imported, in_one_line, number
from .._functions.backoff import Backoff
from .._meaning.chains import PROGRAM, Chain, Ladder, program_of
from .._words.commands import AsyncInterpreter, Command, Interpreter
from .._writing.programs import Program
from ..schedules.kinds import Constant, Schedule


class Found(NamedTuple):
    """A program that the command line names.

    Attributes:
        name: the name that its author gave it, or NAME of MODULE:NAME.
        program: the program; for a decorated function, that of one call.
        needs: the required arguments of a decorated function, as words.
    """

    name: str
    program: Program[Any, Any, Any, Any]
    needs: str


PROGRAM_HELP = "a program, a decorated function, or a function without arguments that makes either"
TRUST = (
    "MODULE is imported, which runs its code, and a function without arguments is called: name "
    "only code that you trust."
)


def add_schedule(parser: ArgumentParser) -> None:
    """Add the schedule of the waits to a parser."""
    parser.add_argument(
        "--schedule",
        type=schedule,
        metavar="SCHEDULE",
        help="the waits: seconds, such as 0.1, or MODULE:NAME of a schedule "
        "(default: that of the program; else 1, 2, 4, ... s)",
    )


def program(text: str) -> Found:
    """Find a program, a decorated function, or a function without arguments that makes either.

    Raises:
        ArgumentTypeError: `text` names none of these.
    """
    named = imported(text)
    made = named
    if not isinstance(named, Ladder) and not hasattr(named, PROGRAM) and is_function(named):
        made = called(text, named)
    known: Any = program_of(made)
    if not isinstance(known, Program):
        raise ArgumentTypeError(f"{text} {refusal(made, named)}")
    name = known._name or text.rpartition(":")[2]
    return Found(name, known, needed(made) if hasattr(made, PROGRAM) else "")


def is_function(named: Any) -> bool:
    """Return whether an object is a function, which may make a program."""
    return callable(named) and not isinstance(named, type | Command | Chain | Backoff)


def called(text: str, function: Any) -> Any:
    """Call a function that makes a program.

    Raises:
        ArgumentTypeError: the function needs arguments, or fails.
    """
    if iscoroutinefunction(function):
        raise ArgumentTypeError(
            f"{text} is a coroutine function: decorate it with @backoff(N3), or name a program"
        )
    if missing := needed(function):
        raise ArgumentTypeError(
            f"{text} needs {missing}: name a program, or a function without arguments"
        )
    try:
        return function()
    except Exception as error:  # the function may have any fault
        raise ArgumentTypeError(f"{text}() failed: {in_one_line(error)}") from None


def needed(function: Any) -> str:
    """List the required arguments of a function in words; "" if there are none.

    >>> needed(lambda url, path, limit=5: ...), needed(lambda *urls: ...)
    ('the arguments url and path', '')
    """
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):  # some built-in functions have no signature
        return ""
    variadic = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    required = [
        parameter.name
        for parameter in parameters
        if parameter.default is Parameter.empty and parameter.kind not in variadic
    ]
    if len(required) < 2:
        return f"the argument {required[0]}" if required else ""
    return f"the arguments {', '.join(required[:-1])} and {required[-1]}"


def refusal(made: object, named: object) -> str:
    """Describe an object that is not a program."""
    if isinstance(made, Chain | Command):
        kind = "a command" if isinstance(made, Command) else "an attempt"
        return f"is {kind}, not a program: put it on a ladder, at(N3).retry(...)"
    if isinstance(made, Backoff):
        return "is a backoff, not a program: name a function that is decorated with it"
    if made is not named:
        return f"returned {made!r}, which is not a program"
    return f"is not a program, but {made!r}"


def schedule(text: str) -> Schedule:
    """Find a schedule, or make a `Constant` of a number of seconds.

    >>> schedule("0.1")
    Constant(every=0.1)

    Raises:
        ArgumentTypeError: `text` does not name a schedule, or the schedule may shorten waits.
    """
    seconds = re.fullmatch(r"(\d+(?:\.\d+)?|\.\d+)s?", text)
    if seconds is not None:
        return Constant(number(0, 1e9)(seconds[1]))
    named = imported(text)
    if not isinstance(named, Schedule):
        raise ArgumentTypeError(f"{text} is not a schedule, but {named!r}")
    return named


def interpreter(text: str) -> Interpreter[Any] | AsyncInterpreter[Any]:
    """Find an interpreter, or a function without arguments that makes one.

    Raises:
        ArgumentTypeError: `text` names neither.
    """
    named = imported(text)
    made = called(text, named) if is_function(named) and not is_interpreter(named) else named
    if not is_interpreter(made):
        raise ArgumentTypeError(f"{text} is not an interpreter, but {made!r}")
    found: Interpreter[Any] | AsyncInterpreter[Any] = made
    return found


def is_interpreter(named: object) -> bool:
    return isinstance(named, Interpreter | AsyncInterpreter)
