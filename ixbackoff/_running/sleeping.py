"""Sleeping, and logging it: the only module that sleeps.

A test can put something in place of all sleeping (`SWITCHES`), in the whole process.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from .._limits.eventloop import running
from .._limits.stopping import STOPS, ending_waits, stopped
from .._words.commands import Misuse
from .._words.vocabulary import INFO, Delay

if TYPE_CHECKING:
    from logging import Logger
    from threading import Event

__tracebackhide__ = True

LONGEST_SLEEP = 1e9  # seconds, 31 years: a server's Retry-After may ask for more than `sleep` takes
TICK = 0.05  # seconds, between two looks at what may stop a wait of the main thread


class Switch(Protocol):
    """A switch for all waits of the process, in force while it is among the `SWITCHES`.

    Attributes:
        skips: whether waits take no time. They do so if one of the switches in force skips.
    """

    skips: bool

    def take(self, seconds: float) -> None:
        """Record a wait that takes no time, or raise an error: nobody may wait."""


SWITCHES: list[Switch] = []
"""The switches in force, in the whole process: empty but in tests."""


def skipped(seconds: float) -> bool:
    """Give a wait to the switches in force, and return whether there are any.

    Raises:
        Misuse: nobody may wait.
    """
    switches = [*SWITCHES]
    for switch in [one for one in switches if one.skips] or switches:
        switch.take(seconds)
    return bool(switches)


def blocking() -> Callable[[float], object]:
    """Return the function that sleeps in this thread."""
    return pause if SWITCHES else time.sleep


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
    if not SWITCHES:
        return sleep

    async def pause(seconds: float) -> None:
        await sleep(0 if skipped(seconds) else seconds)  # others run, and cancellation is seen

    return pause


def pause(seconds: float) -> None:
    """Sleep in this thread, unless it takes no time."""
    if not skipped(seconds):
        time.sleep(seconds)


def pause_until(stops: tuple[Event, ...], seconds: float) -> None:
    """Sleep in this thread, at most until one of these events is set."""
    from threading import current_thread, main_thread

    if skipped(seconds):
        return
    if len(stops) == 1 and current_thread() is not main_thread():
        stops[0].wait(seconds)
        return
    # Handlers of signals run in the main thread. While that is in `wait`, it may hold the lock of
    # the event, and a handler that sets the event would never return.
    end = time.monotonic() + seconds
    while not any(stop.is_set() for stop in stops) and (left := end - time.monotonic()) > 0:
        time.sleep(min(left, TICK))


def sleep(wait: Delay, logger: Logger | None = None) -> None:
    """Log a wait, then sleep in this thread; a program's `stop` ends it."""
    log(wait, logger)
    seconds = min(wait.seconds, LONGEST_SLEEP)
    stops = STOPS.get()
    if stops:
        pause_until(stops, seconds)
    elif SWITCHES:
        pause(seconds)
    else:
        time.sleep(seconds)


def sleep_until(stop: Event, logger: Logger, wait: Delay) -> None:
    """Sleep as `sleep` does; `stop` ends the wait, and with it the program."""
    try:
        if not stop.is_set():
            with ending_waits(stop):
                sleep(wait, logger)
        if stop.is_set():
            raise stopped(wait)
    finally:  # a wait holds its failure, whose traceback holds this frame
        del wait


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
