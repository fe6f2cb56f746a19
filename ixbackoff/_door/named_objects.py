"""The user's programs, schedules and interpreters, which the command line names as MODULE:NAME."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from functools import partial
from inspect import Parameter, iscoroutinefunction, signature
from typing import Any, NamedTuple

from .._argument_parser import imported, in_one_line, timing
from .._functions.backoff import Backoff
from .._meaning.chains import PROGRAM, Chain, program_of
from .._words.commands import AsyncInterpreter, Command, Interpreter
from .._writing.programs import Program
from ..schedules.algebra import Schedule


class Found(NamedTuple):
    """A program; `needs` lists the required arguments of a decorated function, in words."""

    name: str
    program: Program[Any, Any, Any, Any]
    needs: str


PROGRAM_HELP = (
    "a program, a decorated function, or a function that makes either; arguments of the "
    "function follow --, as JSON or text: -- 3 http://localhost/page"
)
TRUST = (
    "MODULE is imported, which runs its code, and a function that makes a program is called: name "
    "only code that you trust."
)
GIVE = "write the arguments after --, or name a program"


def add_schedule(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--schedule",
        type=partial(timing, kind=Schedule),
        metavar="SCHEDULE",
        help="the waits: seconds, such as 0.1, or MODULE:NAME of a schedule "
        "(default: that of the program; else 1, 2, 4, ... s)",
    )


def arguments_apart(words: list[str]) -> tuple[list[str], list[Any]]:
    """Separate the words from the arguments of a function, which follow `--`.

    >>> arguments_apart(["jobs:copy", "--", "3", "page", ""])
    (['jobs:copy'], [3, 'page', ''])
    """
    dashes = words.index("--") if "--" in words else len(words)
    return words[:dashes], [value(word) for word in words[dashes + 1 :]]


def value(text: str) -> Any:
    """Parse a value: JSON, or other text as it is."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def program(text: str, given: Sequence[Any] = ()) -> Found:
    """Find the program `text`, or call the function `text` with `given` to make a program."""
    named = made = imported(text)
    if given or (not hasattr(named, PROGRAM) and is_function(named)):
        made = called(text, named, given)
    value: Any = program_of(made)
    if not isinstance(value, Program):
        raise ArgumentTypeError(f"{text} {refusal(made, named)}")
    name = value._name or text.rpartition(":")[2]
    return Found(name, value, needed(made) if hasattr(made, PROGRAM) else "")


def is_function(named: Any) -> bool:
    return callable(named) and not isinstance(named, type | Command | Chain | Backoff)


def called(text: str, function: Any, given: Sequence[Any] = ()) -> Any:
    """Call a user's function; if it is decorated, return the program of the call instead."""
    decorated = hasattr(function, PROGRAM)
    if iscoroutinefunction(function) and not decorated:
        raise ArgumentTypeError(
            f"{text} is a coroutine function: decorate it with @backoff(N3), or name a program"
        )
    if missing := needed(function, len(given)):
        raise ArgumentTypeError(f"{text} needs {missing}: {GIVE}")
    try:
        if decorated:
            signature(function).bind(*given)
        return program_of(function, *given) if decorated else function(*given)
    except Exception as error:  # the function may have any fault
        raise ArgumentTypeError(f"{text}() failed: {in_one_line(error)}") from None


def needed(function: Any, given: int = 0) -> str:
    """List, in words, the required arguments of a function without the first `given` of them.

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
    ][given:]
    if len(required) < 2:
        return f"the argument {required[0]}" if required else ""
    return f"the arguments {', '.join(required[:-1])} and {required[-1]}"


def refusal(made: object, named: object) -> str:
    if isinstance(made, Chain | Command):
        kind = "a command" if isinstance(made, Command) else "an attempt"
        return f"is {kind}, not a program: put it on a ladder, at(N3).retry(...)"
    if isinstance(made, Backoff):
        return "is a backoff, not a program: name a function that is decorated with it"
    if made is not named:
        return f"returned {made!r}, which is not a program"
    return f"is not a program, but {made!r}"


def interpreter(text: str) -> Interpreter[Any] | AsyncInterpreter[Any]:
    """Return the interpreter `text`, or call the function `text`, which makes an interpreter."""
    named = imported(text)
    made = called(text, named) if is_function(named) else named
    if not is_interpreter(made):
        raise ArgumentTypeError(f"{text} is not an interpreter, but {made!r}")
    found: Interpreter[Any] | AsyncInterpreter[Any] = made
    return found


def is_interpreter(named: object) -> bool:
    return isinstance(named, Interpreter | AsyncInterpreter)
