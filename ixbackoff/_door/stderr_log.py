"""The reports of `ixbackoff run`: the log on standard error, and a failure in one line."""

from __future__ import annotations

import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager

from .._argument_parser import in_one_line
from .._words.notes import NOTE

LOGGER = logging.getLogger("ixbackoff")


@contextmanager
def logged(ends: bool = True) -> Generator[None]:
    """Log waits, and ends of runs if `ends`, to standard error, unless logging is configured."""
    if LOGGER.hasHandlers():
        yield
        return
    handler = logging.StreamHandler(sys.stderr)
    if not ends:
        handler.addFilter(lambda record: not hasattr(record, "ixbackoff_reason"))
    level = LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(level or logging.INFO)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)


def with_notes(failure: Exception) -> str:
    """Describe a failure in one line, with its notes.

    >>> failure = TimeoutError("no answer")
    >>> failure.add_note("ixbackoff: tries: 4, waits: 3, 7 s in all")
    >>> with_notes(failure)
    'TimeoutError: no answer (tries: 4, waits: 3, 7 s in all)'
    """
    notes = [str(note).removeprefix(NOTE).strip() for note in getattr(failure, "__notes__", ())]
    behind = " ".join("; ".join(notes).split())
    return f"{in_one_line(failure)} ({behind})" if behind else in_one_line(failure)
