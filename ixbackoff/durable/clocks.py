"""Clocks that a crash does not stop: that of the database, and that since the machine started."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

AGE = 60.0  # seconds after which the database is asked again

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Boot(NamedTuple):
    """A point in time on a clock that nobody can set.

    It goes on while the machine sleeps, and across the death of a process.

    Attributes:
        id: the start of the machine that it counts from; empty where that is not known.
        seconds: the seconds since.
    """

    id: str
    seconds: float


def since_boot() -> Boot:
    """Read that clock; the id is empty on a system that does not have it."""
    try:
        return Boot(BOOT_ID.read_text().strip(), time.clock_gettime(time.CLOCK_BOOTTIME))
    except (OSError, AttributeError):
        return Boot("", 0.0)


def left(wait: Mapping[str, Any], now: float) -> float:
    """Return the rest of a wait in a journal, in seconds.

    Nobody sets the clock that counts since the machine was started. After another start, or on
    another machine, a wait takes no longer than it would take from the beginning.

    Args:
        wait: its entry.
        now: the seconds since the epoch, on the clock that all workers share.
    """
    boot = since_boot()
    if boot.id and boot.id == wait["boot"]:
        return float(wait["boot_due"]) - boot.seconds
    return min(float(wait["due"]) - now, float(wait["seconds"]))


def elapsed() -> float:
    """Read a clock that goes on while the machine sleeps, where it has one, in seconds."""
    try:
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    except (OSError, AttributeError):
        return time.monotonic()


class DatabaseClock:
    """Seconds since the epoch on the clock of a database, which all workers share.

    The database is asked once in a while; in between, and while it does not answer,
    `time.monotonic` goes on.

    Args:
        ask: reads the clock of the database.
    """

    def __init__(self, ask: Callable[[], float]) -> None:
        self._ask = ask
        self._lock = Lock()
        self._offset, self._read = self._compared()

    def _compared(self) -> tuple[float, float]:
        before = time.monotonic()
        there = self._ask()
        after = time.monotonic()
        return there - (before + after) / 2, after

    def _compare_again(self) -> None:
        try:
            self._offset, self._read = self._compared()
        except Exception:
            self._read = time.monotonic()

    def __call__(self) -> float:
        if time.monotonic() - self._read > AGE:
            with self._lock:
                if time.monotonic() - self._read > AGE:
                    self._compare_again()
        return time.monotonic() + self._offset
