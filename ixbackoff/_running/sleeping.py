"""Sleeping, and logging it: the only module that sleeps."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from .._limits.eventloop import running
from .._meaning.runs import Run
from .._words.commands import Awaited, Handlers, Misuse
from .._words.vocabulary import Delay
from .logs import default_logger, log, log_end

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


def logger_of(handler: Any) -> Logger | None:
    """Return the logger of a handler of waits that is one of these two; `None` for others."""
    given: dict[str, Any] = {}
    if isinstance(handler, Awaited):
        handler = handler.handler
    if isinstance(handler, partial):
        handler, given = handler.func, handler.keywords
    return given.get("logger") or default_logger() if handler in (sleep, sleep_async) else None


def log_ended(run: Run, failure: Exception, handlers: Handlers) -> None:
    """Log the end of a run whose waits are logged, or would have been."""
    logger = run.logger or logger_of(handlers.get(Delay))
    if logger is not None and run.top:
        log_end(run.name, run.story, failure, logger)
