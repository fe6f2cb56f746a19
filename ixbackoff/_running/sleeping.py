"""Sleeping: the only module that sleeps; for each wait, `logs` writes a line to the log.

Tests can replace the waits of all programs and decorated functions (`SWITCHES`).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from .._limits.event_loop import running
from .._limits.stopping import STOPS, ending_waits, stop_failure
from .._meaning.run_state import ProgramRun
from .._words.commands import COROUTINES, Awaited, Handlers, Misuse
from .._words.logger import default_logger
from .._words.process_state import StateList, placed
from .._words.standard_commands import Delay
from .logs import log, log_end
from .tasks_and_timeouts import now

if TYPE_CHECKING:
    from logging import Logger
    from threading import Event
    from types import FrameType

    class Switch(Protocol):
        """A replacement for all waits of the process, active while it is in `SWITCHES`.

        Attributes:
            skips: true if waits take no time; false to forbid them, unless another switch skips.
        """

        skips: bool

        def take(self, seconds: float) -> None:
            """Record a wait that takes no time, or raise Misuse to forbid it."""


__tracebackhide__ = True

LONGEST_SLEEP = 1e9  # seconds, 31 years: a server's Retry-After may exceed what `sleep` accepts
TICK = 0.05  # seconds between checks of the stops, in a sleep that a stop cannot interrupt

SWITCHES = placed("SWITCHES", StateList["Switch"]())
"""The active switches of the process; empty outside of tests."""


def skipped(seconds: float) -> bool:
    """Pass a wait to the switches that skip, or to all if none skips; return whether any exist."""
    switches = [*SWITCHES]
    for switch in [each for each in switches if each.skips] or switches:
        switch.take(seconds)
    return bool(switches)


BLOCKING = 0.1  # seconds: asyncio's own `slow_callback_duration`
# `check_loop` exempts the coroutines of these modules: a cell of a notebook may block its loop.
INNER = ("ixbackoff.", "asyncio.", "IPython.", "ipykernel.")
WARNED: set[str] = set()
"""The names of the coroutine functions that `check_loop` has warned of."""


def check_loop(seconds: float) -> None:
    """Warn, once for each coroutine function, of a wait in it that blocks its event loop."""
    if seconds < BLOCKING or SWITCHES or running() == (None, None):
        return
    frame: FrameType | None = sys._getframe(1)
    depth = 2
    while frame is not None:
        module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_qualname
        if frame.f_code.co_flags & COROUTINES and not module.startswith(INNER):
            if name not in WARNED:
                from warnings import warn

                WARNED.add(name)
                said = f"A retry in {name} blocks the event loop for {seconds:g} s: decorate a"
                warn(f"{said} coroutine function, or use live_async().", RuntimeWarning, depth)
            return
        frame, depth = frame.f_back, depth + 1


def awaitable() -> Callable[[float], Awaitable[object]]:
    """Return the function that sleeps in the event loop of the caller."""
    asyncio, trio = running()
    library = asyncio or trio
    if library is None:
        raise Misuse("Waiting needs asyncio or trio, and neither is running.")
    sleep: Callable[[float], Awaitable[object]] = library.sleep
    if not SWITCHES:
        return sleep

    async def pause(seconds: float) -> None:
        # even a sleep of 0 lets other tasks run, and raises a pending cancellation
        await sleep(0 if skipped(seconds) else seconds)

    return pause


def asyncio_sleep() -> Callable[[float], Awaitable[object]]:
    """Return the function that sleeps in asyncio; call it only while no switch is active."""
    sleep: Callable[[float], Awaitable[object]] = sys.modules["asyncio"].sleep
    return sleep


def short_sleep() -> Callable[[float], None]:
    """Return the sleep for waits under `BLOCKING`; call it only while no switch is active."""
    return time.sleep


def blocking_sleep(seconds: float) -> None:
    """Sleep in this thread, or have the active switches take the wait."""
    check_loop(seconds)
    if not skipped(seconds):
        time.sleep(min(seconds, LONGEST_SLEEP))


def pause_until(stops: tuple[Event, ...], seconds: float) -> None:
    """Sleep in this thread, at most until one of `stops` is set."""
    from threading import current_thread, main_thread

    if skipped(seconds):
        return
    if len(stops) == 1 and current_thread() is not main_thread():
        stops[0].wait(seconds)
        return
    # Signal handlers run in the main thread. While it is inside `wait`, it may hold the lock of the
    # event, and a handler that sets the event would never return.
    end = time.monotonic() + seconds
    while not any(stop.is_set() for stop in stops) and (left := end - time.monotonic()) > 0:
        time.sleep(min(left, TICK))


def sleep(wait: Delay, logger: Logger | None = None) -> None:
    """Log a wait, then sleep in this thread, at most until the `stop` of the program."""
    log(wait, logger)
    stops = STOPS.get()
    if stops:
        check_loop(wait.seconds)
        pause_until(stops, min(wait.seconds, LONGEST_SLEEP))
    else:
        blocking_sleep(wait.seconds)


def sleep_until(wait: Delay, stop: Event, logger: Logger) -> None:
    """Sleep as `sleep` does; once `stop` is set, end the wait and the program."""
    try:
        if not stop.is_set():
            with ending_waits(stop):
                sleep(wait, logger)
        if stop.is_set():
            raise stop_failure(wait)
    finally:  # break the cycle of failure, traceback, this frame and the wait
        del wait


async def poll_async(seconds: float) -> None:
    """Let the event loop run other tasks for `seconds`, even if `SWITCHES` skip other waits."""
    asyncio, trio = running()
    library: Any = asyncio or trio
    await library.sleep(seconds)


async def sleep_async(wait: Delay, logger: Logger | None = None) -> None:
    """Log a wait, then sleep in the event loop, at most until the `stop` of the program."""
    log(wait, logger)
    sleep, seconds = awaitable(), min(wait.seconds, LONGEST_SLEEP)
    stops = () if SWITCHES else STOPS.get()
    end = now() + seconds
    await sleep(min(seconds, TICK) if stops else seconds)
    while stops and not any(stop.is_set() for stop in stops) and (left := end - now()) > 0:
        await sleep(min(left, TICK))


SLEEPERS = (sleep, sleep_async, sleep_until)


def logger_of(handler: Any) -> Logger | None:
    """Return the logger of a handler that really sleeps (`SLEEPERS`); `None` for others."""
    keywords: dict[str, Any] = {}
    if isinstance(handler, Awaited):
        handler = handler.handler
    if isinstance(handler, partial):
        handler, keywords = handler.func, handler.keywords
    return keywords.get("logger") or default_logger() if handler in SLEEPERS else None


def log_ended(run: ProgramRun, failure: Exception, handlers: Handlers) -> None:
    """Log the end of a run, if its handler of `Delay` logs waits."""
    logger = run.logger or logger_of(handlers.get(Delay))
    if logger is not None and run.top:
        log_end(run.name, run.story, failure, logger)
