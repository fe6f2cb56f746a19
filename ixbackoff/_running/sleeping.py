"""The one place that sleeps, and says so."""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable
from functools import cache
from typing import TYPE_CHECKING

from .._limits.eventloop import running
from .._words.commands import Misuse
from .._words.vocabulary import INFO, Delay

if TYPE_CHECKING:
    from logging import Logger

LONGEST_SLEEP = 1e9  # seconds, 31 years: no clock takes what a server's Retry-After may ask for


def blocking() -> Callable[[float], object]:
    """The function that sleeps in this thread."""
    return time.sleep


def awaitable() -> Callable[[float], Awaitable[object]]:
    """The function that sleeps in the event loop that runs this.

    Raises:
        Misuse: neither asyncio nor trio is running.
    """
    asyncio, trio = running()
    library = asyncio or trio
    if library is None:
        raise Misuse("Waiting needs asyncio or trio, and neither is running.")
    sleep: Callable[[float], Awaitable[object]] = library.sleep
    return sleep


def sleep(wait: Delay, logger: Logger | None = None) -> None:
    """Wait, in this thread; `logger` is told before."""
    log(wait, logger)
    blocking()(min(wait.seconds, LONGEST_SLEEP))


async def sleep_async(wait: Delay, logger: Logger | None = None) -> None:
    """As `sleep`, in an event loop."""
    log(wait, logger)
    await awaitable()(min(wait.seconds, LONGEST_SLEEP))


def log(wait: Delay, logger: Logger | None = None) -> None:
    """Tell a logger of a wait, at the level INFO: by default `"ixbackoff"`, if logging is used."""
    if logger is None and "logging" in sys.modules:
        logger = default_logger()
    if logger is not None and logger.isEnabledFor(INFO):
        logger.log(INFO, "%s", wait)


def listener() -> Callable[[int], bool]:
    """Whether somebody is told of a wait, by its level: asked before each, since levels change."""
    return default_logger().isEnabledFor if "logging" in sys.modules else unheard


def unheard(_level: int, /) -> bool:
    """Logging is not used."""
    return False


@cache
def default_logger() -> Logger:
    logger: Logger = sys.modules["logging"].getLogger("ixbackoff")
    return logger
