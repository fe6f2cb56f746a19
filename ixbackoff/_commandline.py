"""What the command lines share: how they read words, and say in one line what is wrong."""

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
    """One that says in one line what is wrong."""

    def error(self, message: str) -> Never:
        self.exit(WRONG, f"{message}; --help tells more.\n")


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """What reads a whole number between these bounds.

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
    """What reads a number between these bounds.

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


def found(text: str) -> Any:
    """What `module:name` names, which may stand in this folder.

    >>> found("ixbackoff.schedules:powers_of_two")
    Exponential(base=1.0, factor=2.0, cap=None)

    Raises:
        ArgumentTypeError: there is no such module, or no such name in it.
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
    except (Exception, SystemExit) as error:  # it may be a module with any fault
        raise ArgumentTypeError(f"{text}: cannot be imported: {told(error)}") from None
    if name not in names:
        raise ArgumentTypeError(f"{text}: the module has no {name}")
    return names[name]


def told(error: BaseException) -> str:
    """An exception in one line.

    >>> told(ZeroDivisionError("division by zero"))
    'ZeroDivisionError: division by zero'
    """
    message = " ".join(str(error).split())
    return f"{error.__class__.__name__}: {message}" if message else error.__class__.__name__
