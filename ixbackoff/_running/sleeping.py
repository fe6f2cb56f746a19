"""Sleeping, and logging it: the only module that sleeps."""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from .._limits.eventloop import running
from .._words.commands import Misuse
from .._words.vocabulary import INFO, Delay

if TYPE_CHECKING:
    from logging import Logger

LONGEST_SLEEP = 1e9  # seconds, 31 years: a server's Retry-After may ask for more than `sleep` takes


def blocking() -> Callable[[float], object]:
    """Return the function that sleeps in this thread."""
    return time.sleep


def awaitable() -> Callable[[float], Awaitable[object]]:
    """Return the function that sleeps in the event loop that runs the caller.

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
    """Log a wait, then sleep in this thread."""
    log(wait, logger)
    blocking()(min(wait.seconds, LONGEST_SLEEP))


async def sleep_async(wait: Delay, logger: Logger | None = None) -> None:
    """Log a wait, then sleep in the event loop."""
    log(wait, logger)
    await awaitable()(min(wait.seconds, LONGEST_SLEEP))


def log(wait: Delay, logger: Logger | None = None) -> None:
    """Log a wait at the level INFO; the default logger is `"ixbackoff"`, if logging is used."""
    if logger is None and "logging" in sys.modules:
        logger = default_logger()
    if logger is not None and logger.isEnabledFor(INFO):
        logger.log(INFO, "%s", wait)


def listener() -> Any:
    """Return the logger, for its level: a wait is logged if `level or parent.level` lets INFO pass.

    Read them before each wait, since levels change: these public attributes cost a few ns, and
    `isEnabledFor`, which `log` asks if they let it pass, 45. In a process that has not imported
    logging, nothing passes.
    """
    return default_logger() if "logging" in sys.modules else Unheard


class Unheard:
    """A logger whose level lets nothing pass."""

    level = sys.maxsize


@cache
def default_logger() -> Logger:
    logger: Logger = sys.modules["logging"].getLogger("ixbackoff")
    return logger
