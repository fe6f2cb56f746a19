"""The log of a run, on standard error."""

from __future__ import annotations

import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager

LOGGER = logging.getLogger("ixbackoff")


@contextmanager
def logged(ends: bool = True) -> Generator[None]:
    """Write the log of runs in this block to standard error, unless somebody has set up logging.

    Args:
        ends: whether the ends of runs are logged, or their waits only.
    """
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
