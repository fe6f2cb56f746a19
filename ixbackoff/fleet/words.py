"""How the command lines of the post's experiments read their words."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from typing import Never

FAILED = 1
WRONG = 2
INTERRUPTED = 130


class Parser(ArgumentParser):
    """One that says in one line what is wrong."""

    def error(self, message: str) -> Never:
        self.exit(WRONG, f"{message}; --help tells more.\n")


def whole(least: int, most: int) -> Callable[[str], int]:
    """What reads a whole number between these bounds.

    >>> whole(1, 10)("7")
    7
    """

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            raise ArgumentTypeError(f"{text}: give a whole number, {least} to {most}")
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
