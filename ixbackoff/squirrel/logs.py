"""The log of the program, as lines of the display."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager

from .display import Display


class Lines(logging.Handler):
    """A log handler that prints by way of the display, which shares the terminal with its bars."""

    def __init__(self, display: Display) -> None:
        super().__init__()
        self.display = display

    def emit(self, record: logging.LogRecord) -> None:
        if not hasattr(record, "ixbackoff_wait"):
            self.display.say(self.format(record))  # the display shows waits itself


@contextmanager
def log_shown(display: Display) -> Generator[None]:
    """Show the log of the program in this block, if the display is verbose."""
    program = logging.getLogger("ixbackoff")
    level = program.level
    # Without a handler, waits would be logged to standard error, and the display shows them.
    lines = Lines(display) if display.verbose else logging.NullHandler()
    program.addHandler(lines)
    if display.verbose:
        program.setLevel(logging.INFO)
    try:
        yield
    finally:
        program.removeHandler(lines)
        program.setLevel(level)
