"""Parts that the command lines share: parsers of arguments, and errors in one line."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from importlib import import_module
from typing import Any, Never

FAILED = 1
WRONG = 2
INTERRUPTED = 130


class Parser(ArgumentParser):
    """A parser that reports an error in one line."""

    def error(self, message: str) -> Never:
        self.exit(WRONG, f"{message}; --help tells more.\n")


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """Make a parser of whole numbers from `least` to `most`.

    >>> whole(1, 10)("7")
    7
    """
    bounds = f"{least} or more" if most is None else f"{least} to {most}"

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least or (most is not None and number > most):
            raise ArgumentTypeError(f"{text}: give a whole number, {bounds}")
        return number

    return read


def number(least: float, most: float) -> Callable[[str], float]:
    """Make a parser of numbers from `least` to `most`.

    >>> number(0.001, 10)("2.5")
    2.5
    """

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            raise ArgumentTypeError(f"{text}: give a number, {least:g} to {most:g}")
        return value

    return read


def imported(text: str) -> Any:
    """Import the object that `module:name` names; the module may be in the current folder.

    >>> imported("ixbackoff.schedules:powers_of_two")
    Exponential(base=1.0, factor=2.0, cap=None)

    Raises:
        ArgumentTypeError: the module cannot be imported, or it does not have the name.
    """
    module, _, name = text.partition(":")
    if not module or not name:
        raise ArgumentTypeError(
            f"{text}: write MODULE:NAME, such as ixbackoff.published:aws_polling"
        )
    if "" not in sys.path:
        sys.path.insert(0, "")  # as `python -m` does
    try:
        names: dict[str, object] = vars(import_module(module))
    except (Exception, SystemExit) as error:  # the module may have any fault
        raise ArgumentTypeError(f"{text}: cannot be imported: {in_one_line(error)}") from None
    if name not in names:
        raise ArgumentTypeError(f"{text}: the module has no {name}")
    return names[name]


def in_one_line(error: BaseException) -> str:
    """Describe an exception in one line.

    >>> in_one_line(ZeroDivisionError("division by zero"))
    'ZeroDivisionError: division by zero'
    """
    message = " ".join(str(error).split())
    return f"{error.__class__.__name__}: {message}" if message else error.__class__.__name__
