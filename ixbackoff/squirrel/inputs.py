"""The resources of a command line: its arguments, and the lines of a file."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import chain
from typing import Any, NamedTuple, TextIO

from .commands import Resource

STANDARD_INPUT = "-"
LONGEST = 1 << 20  # characters of a line


class BadLine(NamedTuple):
    """A line of a file that is not a URL; `place` is the file and the number of the line."""

    place: str
    message: str


def resources_of(args: Namespace) -> Iterator[Resource | BadLine]:
    """Return the resources of a command line; a file is read as its resources are taken."""
    arguments = [Resource(url) for url in args.urls]
    return chain(arguments, () if args.input is None else resources_in(args.input))


def resources_in(file: str) -> Iterator[Resource | BadLine]:
    """Yield the resources of a file, one URL a line, without blank lines and comments."""
    try:
        opened = (
            nullcontext(standard_input())
            if file == STANDARD_INPUT
            else open(file, encoding="utf-8", errors="replace")  # noqa: SIM115
        )
        with opened as lines:
            for number, line in enumerate(iter(lambda: lines.readline(LONGEST), ""), 1):
                if len(line) == LONGEST:
                    raise ValueError(f"{file}, line {number} is too long: give one URL a line.")
                url = line.strip()
                if url and not url.startswith("#"):
                    try:
                        yield Resource(url)
                    except ValueError as error:
                        yield BadLine(f"{file}, line {number}", str(error))
    except OSError as error:
        raise ValueError(
            f"{file} cannot be read ({error.strerror}): give --input a file with one URL a line, "
            "or - for the standard input."
        ) from None


def standard_input() -> TextIO:
    """Return the standard input as UTF-8, whatever the locale is."""
    given: Any = sys.stdin
    if given is None or given.closed:
        raise ValueError(
            "The standard input is closed: give --input a file with one URL a line, or pipe the "
            "URLs in."
        )
    if hasattr(given, "reconfigure"):
        given.reconfigure(encoding="utf-8", errors="replace")
    lines: TextIO = given
    return lines


def name_of(item: Resource | BadLine) -> str:
    """Return the name of an item: items with the same name are not worked on concurrently."""
    return item.name if isinstance(item, Resource) else item.place
