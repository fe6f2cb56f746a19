"""The resources that a command names: as its words, and in files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from typing import NamedTuple

from .commands import Resource

STANDARD = "-"


class Wrong(NamedTuple):
    """A line of a file that is not a URL.

    Attributes:
        place: the file and the number of the line.
        sentence: what is wrong.
    """

    place: str
    sentence: str


def resources_in(file: str) -> Iterator[Resource | Wrong]:
    """Yield the resources of a file, one URL a line; blank lines and comments are left out.

    Args:
        file: its path; `-` for the standard input.

    Raises:
        ValueError: the file cannot be read.
    """
    try:
        opened = (
            nullcontext(sys.stdin)
            if file == STANDARD
            else open(file, encoding="utf-8", errors="replace")  # noqa: SIM115
        )
        with opened as lines:
            for number, line in enumerate(lines, 1):
                url = line.strip()
                if url and not url.startswith("#"):
                    try:
                        yield Resource(url)
                    except ValueError as error:
                        yield Wrong(f"{file}, line {number}", str(error))
    except OSError as error:
        raise ValueError(
            f"{file} cannot be read ({error.strerror}): give --input a file with one URL a line, "
            "or - for the standard input."
        ) from None
